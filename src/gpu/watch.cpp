// SPDX-License-Identifier: Apache-2.0
#include "gpu/watch.hpp"

#include <algorithm>
#include <chrono>

#include "base/thread.hpp"
#include "gpu/board.hpp"
#include "gpu/kernel_plan.hpp"

namespace penstock::gpu {

namespace {

constexpr std::chrono::milliseconds tick{2};

}  // namespace

Watch::Watch() {
  thread_ = base::start_thread("penstock-cuda", [this] { run(); });
}

Watch::~Watch() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Watch::run() noexcept {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (boards_.empty()) {
      changed_.wait(lock);
    } else {
      changed_.wait_for(lock, tick);
    }
    for (Board* board : boards_) board->look();
  }
}

void Watch::add(Board& board) {
  {
    const std::lock_guard lock(mutex_);
    boards_.push_back(&board);
  }
  changed_.notify_all();
}

void Watch::remove(Board& board) noexcept {
  const std::lock_guard lock(mutex_);
  board.change_blocked(nullptr);
  std::erase(boards_, &board);
  for (KernelPlan* plan : plans_)
    if (plan != nullptr) plan->forget(board);
}

std::uint32_t Watch::add(KernelPlan& plan) {
  const std::lock_guard lock(mutex_);
  auto place = std::find(plans_.begin(), plans_.end(), nullptr);
  if (place == plans_.end()) place = plans_.insert(plans_.end(), nullptr);
  *place = &plan;
  return static_cast<std::uint32_t>(place - plans_.begin());
}

void Watch::remove(KernelPlan& plan) noexcept {
  const std::lock_guard lock(mutex_);
  for (Board* board : boards_)
    if (board->blocked_ == &plan) board->change_blocked(nullptr);
  std::replace(plans_.begin(), plans_.end(), &plan, static_cast<KernelPlan*>(nullptr));
}

void Watch::look_at(Board& board) noexcept {
  const std::lock_guard lock(mutex_);
  board.look();
}

void Watch::give_up(std::uint32_t id) noexcept {
  const std::lock_guard lock(mutex_);
  if (KernelPlan* const plan = find(std::uint64_t{id} + 1); plan != nullptr) plan->give_up();
}

// The peers know before the queues.
void Watch::lose(int device, const base::Error& error) noexcept {
  const std::lock_guard lock(mutex_);
  const auto lost = [&](const Board* board) { return board->device_ == device; };
  for (KernelPlan* plan : plans_) {
    if (plan == nullptr) continue;
    const auto used_on = [&](const Board* board) { return lost(board) && plan->used_on(*board); };
    if (plan->needs(device) || std::any_of(boards_.begin(), boards_.end(), used_on)) plan->give_up();
  }
  for (Board* board : boards_)
    if (lost(board)) board->fail_sink(error);
}

KernelPlan* Watch::find(std::uint64_t id_plus_one) const noexcept {
  return id_plus_one == 0 || id_plus_one > plans_.size() ? nullptr : plans_[id_plus_one - 1];
}

}  // namespace penstock::gpu
