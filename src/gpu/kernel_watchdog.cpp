// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernel_watchdog.hpp"

#include <algorithm>
#include <chrono>

#include "base/thread.hpp"
#include "gpu/kernel_plan.hpp"
#include "gpu/kernel_queue.hpp"

namespace penstock::gpu {

namespace {

constexpr std::chrono::milliseconds tick{2};

}  // namespace

KernelWatchdog::KernelWatchdog() {
  thread_ = base::start_thread("penstock-gpu", [this] { run(); });
}

KernelWatchdog::~KernelWatchdog() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void KernelWatchdog::run() noexcept {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (queues_.empty()) {
      changed_.wait(lock);
    } else {
      changed_.wait_for(lock, tick);
    }
    for (KernelQueue* queue : queues_) queue->poll();
    for (KernelPlan* plan : in_kernels_) plan->give_up_if_peer_is_dead();
  }
}

void KernelWatchdog::add_in_kernels(KernelPlan& plan) {
  const std::lock_guard lock(mutex_);
  in_kernels_.push_back(&plan);
}

void KernelWatchdog::add(KernelQueue& queue) {
  {
    const std::lock_guard lock(mutex_);
    queues_.push_back(&queue);
  }
  changed_.notify_all();
}

void KernelWatchdog::remove(KernelQueue& queue) noexcept {
  const std::lock_guard lock(mutex_);
  queue.change_blocked(nullptr);
  std::erase(queues_, &queue);
  for (KernelPlan* plan : plans_)
    if (plan != nullptr) plan->forget(queue);
}

std::uint32_t KernelWatchdog::add(KernelPlan& plan) {
  const std::lock_guard lock(mutex_);
  auto place = std::find(plans_.begin(), plans_.end(), nullptr);
  if (place == plans_.end()) place = plans_.insert(plans_.end(), nullptr);
  *place = &plan;
  return static_cast<std::uint32_t>(place - plans_.begin());
}

void KernelWatchdog::remove(KernelPlan& plan) noexcept {
  const std::lock_guard lock(mutex_);
  for (KernelQueue* queue : queues_)
    if (queue->blocked_ == &plan) queue->change_blocked(nullptr);
  std::replace(plans_.begin(), plans_.end(), &plan, static_cast<KernelPlan*>(nullptr));
  std::erase(in_kernels_, &plan);
}

void KernelWatchdog::look_at(KernelQueue& queue) noexcept {
  const std::lock_guard lock(mutex_);
  queue.poll();
}

bool KernelWatchdog::untouched(KernelQueue& queue) noexcept {
  const std::lock_guard lock(mutex_);
  queue.poll();  // which gives up plans of a queue that has failed, and tells
  if (!queue.failed_) return true;
  const auto moving = std::find_if(plans_.begin(), plans_.end(), [&](const KernelPlan* plan) {
    return plan != nullptr && plan->used_on(queue) && !plan->untouched();
  });
  queue.change_blocked(moving == plans_.end() ? nullptr : *moving);
  return moving == plans_.end();
}

void KernelWatchdog::poison(std::uint32_t id) noexcept {
  const std::lock_guard lock(mutex_);
  if (KernelPlan* const plan = find(std::uint64_t{id} + 1); plan != nullptr) plan->poison();
}

// The peers know before the queues.
void KernelWatchdog::lose(int device, const base::Error& error) noexcept {
  const std::lock_guard lock(mutex_);
  const auto lost = [&](const KernelQueue* queue) { return queue->device_ == device; };
  for (KernelPlan* plan : plans_) {
    if (plan == nullptr) continue;
    const auto used_on = [&](const KernelQueue* queue) {
      return lost(queue) && plan->used_on(*queue);
    };
    if (plan->needs(device) || std::any_of(queues_.begin(), queues_.end(), used_on)) plan->poison();
  }
  for (KernelQueue* queue : queues_)
    if (lost(queue)) queue->fail_sink(error);
}

KernelPlan* KernelWatchdog::find(std::uint64_t id_plus_one) const noexcept {
  return id_plus_one == 0 || id_plus_one > plans_.size() ? nullptr : plans_[id_plus_one - 1];
}

}  // namespace penstock::gpu
