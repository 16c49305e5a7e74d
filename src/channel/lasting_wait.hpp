// SPDX-License-Identifier: Apache-2.0
// A stream's wait for units that are words, as reports and the monitor see it: looks that find
// nothing are counted, and told when they have lasted. What a cell waits for its plan tells by
// itself.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "base/elapsed.hpp"
#include "base/error.hpp"
#include "transport/sink.hpp"

namespace penstock::channel {

class ChannelPlan;

class LastingWait final : public transport::Waiter {
 public:
  explicit LastingWait(const ChannelPlan& plan) noexcept : plan_(plan) {}
  // Before anything is told.
  LastingWait(LastingWait&& other) noexcept : plan_(other.plan_) {}

  // ---- By the stream's worker.
  // A look has found nothing new; `unit` is the first that is missing. True: it has lasted long
  // enough to ask whether it is hopeless, which it then is from time to time.
  bool found_nothing(std::uint32_t unit, transport::Sink& sink) noexcept;
  // From outside, since it was told.
  const base::Error* cancelled() const noexcept;
  // What it has waited for has come; another unit may be missing yet.
  void end(transport::Sink& sink) noexcept {
    if (polls_ != 0) [[unlikely]]
      end_lasting(sink);
  }

  std::string describe() const override;
  const char* advice() const noexcept override;
  void cancel_wait(const base::Error& error) noexcept override;

 private:
  void end_lasting(transport::Sink& sink) noexcept;

  const ChannelPlan& plan_;
  std::uint32_t polls_ = 0;  // that found nothing
  base::Elapsed lasts_;
  bool blocked_ = false;                     // the sink has been told
  std::uint32_t unit_ = 0;                   // then: what for
  std::atomic<bool> cancel_claimed_{false};  // the first cancel counts
  std::atomic<bool> cancelled_{false};       // release order: the error has been written
  std::optional<base::Error> cancel_error_;
};

}  // namespace penstock::channel
