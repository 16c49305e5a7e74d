// SPDX-License-Identifier: Apache-2.0
// One unit of a channel as a pair of standard requests: a put starts the send and put_wait waits
// for it; a release starts the receive, as the match does for the first message, and a wait waits.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/no_copy.hpp"
#include "plan/host_plan.hpp"

namespace penstock::channel {

enum class Stage : std::uint8_t {
  open,       // of a send: nothing is under way
  under_way,  // started; of a receive: released
  arrived,    // the message is here, and no wait has taken it
  held        // of a receive: waited for, the program's until its release
};

class Cell final : private transport::Sink, private base::NoCopy {
 public:
  explicit Cell(std::unique_ptr<plan::HostPlan> plan, bool sends) noexcept
      : plan_(std::move(plan)), sends_(sends), stage_(sends ? Stage::open : Stage::held) {}

  plan::HostPlan& plan() noexcept { return *plan_; }
  Stage stage() const noexcept { return stage_.load(std::memory_order_relaxed); }

  // ---- For who has taken the cell. One thread works at it at a time: calls for it come in the
  // program's order, but a giving up and a test may come at any time.
  bool try_take() noexcept { return !taken_.exchange(true, std::memory_order_acquire); }
  void give_back() noexcept { taken_.store(false, std::memory_order_seq_cst); }

  // Never waits: what a start leaves for later goes on with advance().
  void start() noexcept;
  // True where nothing is under way any more: it has ended, or failed.
  bool advance() noexcept;
  void hold() noexcept { stage_.store(Stage::held, std::memory_order_relaxed); }
  // The pair serves no more. Then advance() ends when nothing moves the buffer.
  void give_up() noexcept;
  // What a part of its work has failed with, or null.
  const base::Error* failure() const noexcept { return error(); }
  // Its wait has lasted long enough to be worth a line, which nobody has been told.
  bool wants_to_tell() const noexcept { return blocked_ && told_ == nullptr; }
  bool has_told() const noexcept { return told_ != nullptr; }
  void tell(transport::Sink& queue) noexcept;
  // One step of the end: true when the other side has been told and nothing moves the buffer.
  bool close() noexcept;

 private:
  void fail(const base::Error& error) noexcept override { error_.set(error); }
  void blocked_since(transport::Waiter&) noexcept override { blocked_ = true; }
  void unblocked(transport::Waiter& waiter) noexcept override;

  const std::unique_ptr<plan::HostPlan> plan_;
  const bool sends_;
  std::atomic<bool> taken_{false};
  std::atomic<Stage> stage_;
  bool starting_ = false;  // under way, and not carried out yet
  bool closed_ = false;
  bool blocked_ = false;
  transport::Sink* told_ = nullptr;  // the queue whose table has the wait
};

}  // namespace penstock::channel
