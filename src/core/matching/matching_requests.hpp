// SPDX-License-Identifier: Apache-2.0
// The requests that PST_Imatch and PST_Imatchall have returned and that are not complete. MPI takes
// them for its own generalized requests; here they are told from others, since they cannot be
// cancelled. Any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <set>

namespace penstock::core {

class MatchingRequests {
 public:
  // Exists from its first use on: MPI may complete one after MPI_Finalize has begun.
  static MatchingRequests& get();

  void add(std::uintptr_t handle);
  void remove(std::uintptr_t handle) noexcept;
  bool contains(std::uintptr_t handle) const noexcept;

 private:
  MatchingRequests() = default;

  mutable std::mutex mutex_;
  std::set<std::uintptr_t> handles_;
};

}  // namespace penstock::core
