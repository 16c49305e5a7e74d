// SPDX-License-Identifier: Apache-2.0
// Our end of a window's pair, as queues start it and wait for it.
#pragma once

#include <latch>
#include <memory>
#include <string>
#include <utility>

#include "core/stream_operation.hpp"
#include "transport/window.hpp"

namespace penstock::rma {

enum class Role { origin, target };

class WindowEnd final : public core::StreamOperation {
 public:
  // `label`: "window 2, access to rank 3". `ended` counts down when the end is gone.
  WindowEnd(Role role, std::string label, const base::trace::TracedMessage& traced,
            std::unique_ptr<transport::Plan> plan, std::shared_ptr<std::latch> ended)
      : role_(role), label_(std::move(label)), ended_(std::move(ended)) {
    plan->set_label(label_);
    plan->set_traced(traced);
    take_plan(std::move(plan));
    set_complete();
  }
  ~WindowEnd() override { ended_->count_down(); }

  std::string label() const override { return label_; }
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
  const std::shared_ptr<std::latch> ended_;
};

}  // namespace penstock::rma
