// SPDX-License-Identifier: Apache-2.0
// Pair ends over host memory. Only their first start shows whether a GPU's stream uses them, and
// for that they need page-locked words. Those cannot be made in an enqueue call: page-locking may
// wait for the device, perhaps for what this very start would let go on, and it invalidates
// captures. So the match makes them where there is a GPU queue, and otherwise PST_Queue_init of the
// first one does.
#pragma once

#include <mutex>
#include <set>

namespace penstock::relay {

class RelayedPlan;

class HostPairEnds {
 public:
  // The match adds a plan, and its end removes it. add() throws Error(resources).
  void add(RelayedPlan& plan);
  void remove(RelayedPlan& plan) noexcept;
  // PST_Queue_init calls it. Throws Error(resources); the next call tries again.
  void equip();

 private:
  std::mutex mutex_;
  bool equipped_ = false;  // there is a GPU queue, and no plan waits
  std::set<RelayedPlan*> waiting_;
};

}  // namespace penstock::relay
