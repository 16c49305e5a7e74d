// SPDX-License-Identifier: Apache-2.0
// Halves over host memory. Only their first start shows whether a CUDA stream uses them, and for
// that they need page-locked words. Those cannot be made in an enqueue call: page-locking may wait
// for the device, perhaps for what this very start would let go on, and it invalidates captures. So
// the match makes them where there is a CUDA queue, and otherwise PST_Queue_init of the first one
// does.
#pragma once

#include <mutex>
#include <set>

namespace penstock::relay {

class RelayedPlan;

class HostHalves {
 public:
  // Match, and the plan's end. The first throws Error(resources).
  void add(RelayedPlan& plan);
  void remove(RelayedPlan& plan) noexcept;
  // PST_Queue_init. Throws Error(resources); the next one tries again.
  void equip();

 private:
  std::mutex mutex_;
  bool equipped_ = false;  // there is a CUDA queue, and nobody waits
  std::set<RelayedPlan*> waiting_;
};

}  // namespace penstock::relay
