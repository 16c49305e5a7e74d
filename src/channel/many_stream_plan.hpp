// SPDX-License-Identifier: Apache-2.0
// A plan whose calls come on several streams of the host at once, each by a queue of its own: which
// these are, and its end behind all of them. No queue starts it, or waits for it, as it does a
// message.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/no_copy.hpp"
#include "device/host/stream.hpp"
#include "transport/plan.hpp"

namespace penstock::channel {

// What the plan has of one stream; a plan's own kind derives from it.
class UsedStream : private base::NoCopy {
 public:
  explicit UsedStream(const std::shared_ptr<device::Stream>& stream)
      : stream_(stream), address_(stream.get()) {}
  virtual ~UsedStream() = default;

  // No other stream can have its address while there is a weak owner.
  bool is(const device::Stream& stream) const noexcept { return address_ == &stream; }

 private:
  friend class ManyStreamPlan;

  const std::weak_ptr<device::Stream> stream_;
  const device::Stream* const address_;
  UsedStream* next_ = nullptr;
  std::shared_ptr<device::Stream> closing_{};  // kept until it has its part of the close
};

class ManyStreamPlan : public transport::Plan {
 public:
  ~ManyStreamPlan() override;

  void start(device::Stream&, transport::Sink&) override {}
  void wait(device::Stream&, transport::Sink&) override {}
  void hand_over(device::Stream*, device::Stream&) override {}
  // By who calls, where no stream is there that looks again.
  void close() override;
  void close(device::Stream& stream, void (*ended)(void*), void* argument) override;
  bool close_behind_own_streams(void (*ended)(void*), void* argument) noexcept override;
  transport::PairState pair_state(transport::Epoch) const noexcept override {
    return transport::PairState::serves;
  }

 protected:
  // The one that is(used); else the one that make() has made. Without a lock, as calls on several
  // queues come at once. Mostly it is there.
  template <class Used, class Is, class Make>
  Used& used_by(Is is, Make make) {
    UsedStream* const first = streams_.load(std::memory_order_acquire);
    for (UsedStream* each = first; each; each = each->next_)
      if (auto& used = static_cast<Used&>(*each); is(used)) return used;
    Used* const used = make();
    used->next_ = first;
    while (!streams_.compare_exchange_weak(used->next_, used, std::memory_order_acq_rel)) continue;
    return *used;
  }
  static device::host::Stream& host_stream(device::Stream& stream) noexcept {
    return static_cast<device::host::Stream&>(stream);
  }

  // One step of the end: true when the other side has been told and nothing moves the buffer.
  virtual bool close_now() noexcept = 0;

 private:
  static bool close_step(device::host::Command& command) noexcept;

  std::atomic<UsedStream*> streams_{nullptr};
  std::atomic<std::uint32_t> streams_left_{0};  // that have calls before its close
  void (*ended_)(void*) = nullptr;
  void* argument_ = nullptr;
};

}  // namespace penstock::channel
