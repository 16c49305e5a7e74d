// SPDX-License-Identifier: Apache-2.0
// The thread that reads what kernels report: a wait that lasts, a queue that has failed. It makes
// no CUDA call, and sleeps while there is no queue.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "base/error.hpp"

namespace penstock::gpu {

class KernelQueue;
class KernelPlan;

class KernelWatchdog {
 public:
  KernelWatchdog();
  ~KernelWatchdog();

  void add(KernelQueue& queue);
  void remove(KernelQueue& queue) noexcept;
  std::uint32_t add(KernelPlan& plan);  // its id in reports
  // One that kernels of the program's may start; until it is removed.
  void add_in_kernels(KernelPlan& plan);
  void remove(KernelPlan& plan) noexcept;
  void look_at(KernelQueue& queue) noexcept;
  // Whether all plans of a queue that has failed are untouched. What is not yet is in reports.
  bool untouched(KernelQueue& queue) noexcept;
  void poison(std::uint32_t id) noexcept;                    // the plan
  void lose(int device, const base::Error& error) noexcept;  // all plans and queues that need it

  // Kernel queues, which are looked at under the lock, call these.
  KernelPlan* find(std::uint64_t id_plus_one) const noexcept;
  const std::vector<KernelPlan*>& plans() const noexcept { return plans_; }

 private:
  void run() noexcept;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<KernelQueue*> queues_;
  std::vector<KernelPlan*> plans_;  // by id; null: free
  std::vector<KernelPlan*> in_kernels_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace penstock::gpu
