// SPDX-License-Identifier: Apache-2.0
// What one queue has of a bag's end: its waits, of which the queue has one at a time. Several
// queues use one end at once.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/elapsed.hpp"
#include "base/error.hpp"
#include "device/stream.hpp"
#include "transport/sink.hpp"

namespace penstock::channel {

class BagHalf;

class BagUser final : public transport::Waiter {
 public:
  BagUser(BagHalf& half, transport::Sink& queue, const std::shared_ptr<device::Stream>& stream);

  BagHalf& half() const noexcept { return half_; }
  transport::Sink& queue() const noexcept { return queue_; }
  // No other stream can have its address while there is a weak owner.
  bool is_of(const transport::Sink& queue, const device::Stream& stream) const noexcept {
    return &queue_ == &queue && address_ == &stream;
  }

  // ---- Of the present wait, by the worker of the stream.
  bool begins() const noexcept { return polls_ == 0; }
  // A poll has found nothing. True: now and then, to ask whether the wait is hopeless.
  bool found_nothing() noexcept;
  // Why the monitor ends it, or null.
  const base::Error* cancelled() const noexcept;
  void end() noexcept;

  std::string describe() const override;
  const char* advice() const noexcept override;
  void cancel_wait(const base::Error& error) noexcept override;

  // ---- Of the list of a half's users, and of its end.
  BagUser* next = nullptr;
  std::shared_ptr<device::Stream> lock_stream() const noexcept { return stream_.lock(); }
  std::shared_ptr<device::Stream> closing{};  // kept until the stream has its part of the close

 private:
  // As plan/host_plan.cpp has them, for the same reasons.
  static constexpr std::chrono::milliseconds until_blocked{20};
  static constexpr std::uint32_t polls_before_clock = 512, polls_between_checks = 32;

  BagHalf& half_;
  transport::Sink& queue_;
  const std::weak_ptr<device::Stream> stream_;
  const device::Stream* const address_;

  std::uint32_t polls_ = 0;
  base::Elapsed lasts_;
  bool blocked_ = false;
  std::atomic<bool> cancel_claimed_{false};  // the first cancel counts
  std::atomic<bool> cancelled_{false};       // release order: cancel_error_ has been written
  std::optional<base::Error> cancel_error_;
};

}  // namespace penstock::channel
