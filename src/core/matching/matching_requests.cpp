// SPDX-License-Identifier: Apache-2.0
#include "core/matching/matching_requests.hpp"

namespace penstock::core {

MatchingRequests& MatchingRequests::get() {
  // It is never destroyed, because exit handlers may still ask it.
  static auto* const requests = new MatchingRequests;
  return *requests;
}

void MatchingRequests::add(std::uintptr_t handle) {
  const std::lock_guard lock(mutex_);
  handles_.insert(handle);
}

void MatchingRequests::remove(std::uintptr_t handle) noexcept {
  const std::lock_guard lock(mutex_);
  handles_.erase(handle);
}

bool MatchingRequests::contains(std::uintptr_t handle) const noexcept {
  const std::lock_guard lock(mutex_);
  return handles_.contains(handle);
}

}  // namespace penstock::core
