// SPDX-License-Identifier: Apache-2.0
// What one queue has of a bag's end: its waits, of which the queue has one at a time. Several
// queues use one end at once.
#pragma once

#include <memory>
#include <string>

#include "channel/many_stream_plan.hpp"
#include "plan/polled_wait.hpp"

namespace penstock::channel {

class BagHalf;

class BagUser final : public UsedStream, public transport::Waiter {
 public:
  BagUser(BagHalf& half, transport::Sink& queue, const std::shared_ptr<device::Stream>& stream);

  BagHalf& half() const noexcept { return half_; }
  transport::Sink& queue() const noexcept { return queue_; }
  bool is_of(const transport::Sink& queue, const device::Stream& stream) const noexcept {
    return &queue_ == &queue && is(stream);
  }

  // ---- Of the present wait, by the worker of the stream.
  bool begins() const noexcept { return wait_.begins(); }
  // A poll has found nothing. True: now and then, to ask whether the wait is hopeless.
  bool found_nothing() noexcept;
  // Why the monitor ends it, or null.
  const base::Error* cancelled() const noexcept { return wait_.cancelled(); }
  void end() noexcept { wait_.end(*this, queue_); }

  std::string describe() const override;
  const char* advice() const noexcept override;
  void cancel_wait(const base::Error& error) noexcept override { wait_.cancel(error); }

 private:
  BagHalf& half_;
  transport::Sink& queue_;
  plan::PolledWait wait_;
};

}  // namespace penstock::channel
