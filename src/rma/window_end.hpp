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

class WindowEnd final : public core::StreamOperation {
 public:
  // `label`: "window 2, access to rank 3". `living` counts the ends that are not gone.
  WindowEnd(Role role, std::string label, const base::trace::TracedMessage& traced,
            std::unique_ptr<transport::Plan> plan, std::shared_ptr<std::atomic<int>> living)
      : role_(role), label_(std::move(label)), living_(std::move(living)) {
    living_->fetch_add(1, std::memory_order_relaxed);
    plan->set_label(label_);
    plan->set_traced(traced);
    take_plan(std::move(plan));
    set_complete();
  }
  // Release: what the end held has been given back before its window goes on.
  ~WindowEnd() override { living_->fetch_sub(1, std::memory_order_release); }

  std::string label() const override { return label_; }
  bool joins_batches() const noexcept override { return true; }
  std::shared_ptr<const group::Communicator> communicator() const override { return nullptr; }
  [[noreturn]] void refuse_incomplete() const override {
    throw base::Error(base::ErrorKind::internal, label_ + " has never been attached");
  }
  bool ends_with_queue() const noexcept override { return role_ == Role::origin; }
  const char* renewal() const noexcept override {
    return "free the window on all its members, and make a new one";
  }

 private:
  const Role role_;
  const std::string label_;
  const std::shared_ptr<std::atomic<int>> living_;
};

}  // namespace penstock::rma
