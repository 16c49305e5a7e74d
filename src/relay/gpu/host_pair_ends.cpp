// SPDX-License-Identifier: Apache-2.0
#include "relay/gpu/host_pair_ends.hpp"

#include "relay/gpu/relayed_plan.hpp"

namespace penstock::relay {

void HostPairEnds::add(RelayedPlan& plan) {
  const std::lock_guard lock(mutex_);
  if (equipped_)
    plan.take_words();
  else
    waiting_.insert(&plan);
}

void HostPairEnds::remove(RelayedPlan& plan) noexcept {
  const std::lock_guard lock(mutex_);
  waiting_.erase(&plan);
}

void HostPairEnds::equip() {
  const std::lock_guard lock(mutex_);
  while (!waiting_.empty()) {
    (*waiting_.begin())->take_words();
    waiting_.erase(waiting_.begin());
  }
  equipped_ = true;
}

}  // namespace penstock::relay
