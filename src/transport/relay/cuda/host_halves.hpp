// SPDX-License-Identifier: Apache-2.0
// Halves over host memory, which show only by their first start whether a CUDA stream uses them. What that needs of the
// driver must not be asked for in an enqueue call: page-locking memory may wait for the device, perhaps for what this
// very start would let go on, and invalidates captures. So it is asked for by the match where there is a CUDA queue,
// and otherwise by PST_Queue_init of the first one.
#pragma once

#include <mutex>
#include <set>

namespace penstock::transport::relay::cuda {

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

}  // namespace penstock::transport::relay::cuda
