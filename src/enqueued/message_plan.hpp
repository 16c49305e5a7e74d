// SPDX-License-Identifier: Apache-2.0
// A queue's enqueued messages as its stream starts them and waits for them: a start triggers one
// bundle, a wait waits for all that have been triggered.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/stream_operation.hpp"
#include "enqueued/engine.hpp"
#include "plan/host_plan.hpp"

namespace penstock::enqueued {

class MessagePlan final : public plan::HostPlan {
 public:
  MessagePlan(QueueMessages& messages, MessageEngine& engine)
      : messages_(messages), engine_(engine) {}

  void expect_start() override { messages_.publish(); }
  transport::PairState pair_state(transport::Epoch) const noexcept override {
    return transport::PairState::serves;  // a failure of its is the queue's
  }
  std::string path() const override { return "MPI"; }
  std::string describe() const override { return messages_.describe_wait(); }
  const char* advice() const noexcept override { return QueueMessages::advice(); }

 private:
  std::optional<base::Error> run_start(bool& later) override;
  bool run_wait() noexcept override;
  // The engine sees to dead peers, also where no stream waits.
  std::optional<base::Error> hopeless() override { return std::nullopt; }
  void run_close() noexcept override {}
  void run_poison() noexcept override;
  bool run_untouched() noexcept override;
  bool ended() const noexcept;

  QueueMessages& messages_;
  MessageEngine& engine_;
  std::uint64_t triggered_ = 0;  // the worker's own
};

// What the queue starts: there is one for all its bundles.
class MessageOperation final : public core::StreamOperation {
 public:
  MessageOperation(std::string label, std::unique_ptr<transport::Plan> plan)
      : label_(std::move(label)) {
    plan->set_label(label_);
    take_plan(std::move(plan));
    set_complete();
  }

  std::string label() const override { return label_; }
  std::shared_ptr<const group::Communicator> communicator() const override { return nullptr; }
  [[noreturn]] void refuse_incomplete() const override {
    throw base::Error(base::ErrorKind::internal, label_ + " are not complete");
  }
  const char* renewal() const noexcept override { return "free the queue, and make a new one"; }

 private:
  const std::string label_;
};

}  // namespace penstock::enqueued
