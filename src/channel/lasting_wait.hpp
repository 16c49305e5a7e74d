// SPDX-License-Identifier: Apache-2.0
// A stream's wait for units that are words, as reports and the monitor see it: looks that find
// nothing are counted, and told when they have lasted. What a cell waits for its plan tells by
// itself.
#pragma once

#include <cstdint>
#include <string>

#include "plan/polled_wait.hpp"

namespace penstock::channel {

class ChannelPlan;

class LastingWait final : public transport::Waiter {
 public:
  explicit LastingWait(const ChannelPlan& plan) noexcept : plan_(plan) {}

  // ---- By the stream's worker.
  // A look has found nothing new; `unit` is the first that is missing. True: it has lasted long
  // enough to ask whether it is hopeless, which it then is from time to time.
  bool found_nothing(std::uint32_t unit, transport::Sink& sink) noexcept;
  // From outside, since it was told.
  const base::Error* cancelled() const noexcept { return wait_.cancelled(); }
  // What it has waited for has come; another unit may be missing yet.
  void end(transport::Sink& sink) noexcept {
    if (!wait_.begins()) [[unlikely]]
      wait_.end(*this, sink);
  }

  std::string describe() const override;
  const char* advice() const noexcept override;
  void cancel_wait(const base::Error& error) noexcept override { wait_.cancel(error); }

 private:
  const ChannelPlan& plan_;
  plan::PolledWait wait_;
  std::uint32_t unit_ = 0;  // what the monitor was told that it waits for
};

}  // namespace penstock::channel
