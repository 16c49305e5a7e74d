// SPDX-License-Identifier: Apache-2.0
// Our end of a window's pair, as queues start it and wait for it.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "core/stream_operation.hpp"
#include "transport/window.hpp"

namespace penstock::rma {

enum class Role { origin, target };

// What the ends of a window leave behind.
struct EndsOfWindow {
  std::atomic<int> living{0};
  std::atomic<bool> exposure_lost{false};  // a peer may be at our part without our knowing
};

class WindowEnd final : public core::StreamOperation {
 public:
  // `label`: "window 2, access to rank 3".
  WindowEnd(Role role, std::string label, const base::trace::TracedMessage& traced,
            std::unique_ptr<transport::Plan> plan, std::shared_ptr<EndsOfWindow> ends)
      : role_(role), label_(std::move(label)), ends_(std::move(ends)) {
    ends_->living.fetch_add(1, std::memory_order_relaxed);
    plan->set_label(label_);
    plan->set_traced(traced);
    take_plan(std::move(plan));
    set_complete();
  }
  // Release: what the end held has been given back before its window goes on.
  ~WindowEnd() override {
    if (role_ == Role::target && pair_state() == transport::PairState::given_up)
      ends_->exposure_lost.store(true, std::memory_order_relaxed);
    ends_->living.fetch_sub(1, std::memory_order_release);
  }

  std::string label() const override { return label_; }
  bool joins_batches() const noexcept override { return true; }
  std::shared_ptr<const group::Communicator> communicator() const override { return nullptr; }
  [[noreturn]] void refuse_incomplete() const override {
    throw base::Error(base::ErrorKind::internal, label_ + " has never been attached");
  }
  // Epochs that are open are the program's to close.
  bool ends_with_queue() const noexcept override { return role_ == Role::origin && !held; }
  const char* renewal() const noexcept override {
    return "free the window on all its members, and make a new one";
  }

 private:
  const Role role_;
  const std::string label_;
  const std::shared_ptr<EndsOfWindow> ends_;
};

}  // namespace penstock::rma
