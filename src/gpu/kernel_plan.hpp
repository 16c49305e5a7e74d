// SPDX-License-Identifier: Apache-2.0
// A plan whose starts and waits are kernels on a CUDA stream: what its kernel queue and the
// watchdog need to know of it.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/error.hpp"
#include "device/gpu/stream.hpp"
#include "gpu/wait_end.hpp"
#include "gpu/words.hpp"
#include "transport/plan.hpp"

namespace penstock::gpu {

class KernelQueue;
class KernelWatchdog;

// Throws Error(unsupported): the stream is no GPU's, or another one's than the memory's, which is
// `device`. `label`: of the request.
void require_device(const std::string& label, const device::Stream& stream, int device);

class KernelPlan : public transport::Plan {
 public:
  void cancel_wait(const base::Error& error) noexcept override;
  void hand_over(device::Stream* last, device::Stream& next) override;
  void wait_flushed(device::Stream& stream) noexcept override;
  void launch_gathered(device::Stream& stream) noexcept override;
  void close(device::Stream& stream, void (*ended)(void*), void* argument) override;
  using transport::Plan::close;

  // Kernel queues call these under the watchdog's lock.
  void waits_for(protocol::Epoch epoch, KernelQueue& queue) noexcept {
    epoch_.store(epoch, std::memory_order_relaxed);
    waits_on_.store(&queue, std::memory_order_relaxed);
  }
  void waits_no_more(KernelQueue& queue) noexcept {
    KernelQueue* expected = &queue;
    waits_on_.compare_exchange_strong(expected, nullptr, std::memory_order_relaxed);
  }
  protocol::Epoch reported_epoch() const noexcept { return epoch_.load(std::memory_order_relaxed); }
  bool used_on(const KernelQueue& queue) const noexcept {
    return queue_.load(std::memory_order_relaxed) == &queue;
  }
  void forget(const KernelQueue& queue) noexcept;
  // The epoch that one of its kernels waits for, once that has said that it waits.
  virtual protocol::Epoch awaited_epoch() const noexcept = 0;
  // Releases a wait that lasts if it is hopeless.
  virtual void look_for_lost_cause() noexcept = 0;
  virtual base::Error error_of(Failure failure) const = 0;  // that its kernel has reported
  // A wait lasts, perhaps because a process has ended: kernels store into the memory of a dead peer
  // no more.
  virtual void note_death() noexcept {}
  // Kernels of the program's may start it, which no call sees: none must store into the memory of a
  // peer that has ended.
  virtual void give_up_if_peer_is_dead() noexcept {}
  // This queue has failed: the peer is told of what this half serves no more. Asked for again and
  // again.
  virtual void follow(const KernelQueue& failed) noexcept = 0;
  // A kernel of this plan could not be launched, or none will run any more: the peer is told that
  // nothing is served.
  virtual void poison() noexcept = 0;
  virtual bool needs(int device) const noexcept = 0;
  // Of a plan whose queue has failed and run dry: nothing else moves the program's buffer any more.
  virtual bool untouched() const noexcept { return true; }
  // The stream stands before a kernel of this plan that nothing has launched yet: for which epoch;
  // and lets it go on.
  virtual protocol::Epoch epoch_at_gate() const noexcept { return 0; }
  virtual void open_gate() noexcept {}

 protected:
  // From the first to the second the watchdog may call: so not before the plan is whole, and first
  // of all in its destructor.
  std::uint32_t enter(KernelWatchdog& watchdog);  // the id in reports
  void leave_watch() noexcept;
  void watch_in_kernels();  // for give_up_if_peer_is_dead()

  // For an enqueue call, before its work: the stream's queue, which reports to the sink from now
  // on.
  KernelQueue& kernel_queue_on(device::Stream& stream, transport::Sink& sink) noexcept;
  base::Error started_twice() const;
  // The two steps of a close in the order of a stream. The first is called while the close is
  // enqueued; false: it cannot be. The second is called behind all that was enqueued, on a thread
  // of the driver's, which must not wait; it calls ended(argument) last, or has it called.
  virtual bool prepare_close(device::gpu::Stream& /*stream*/) noexcept { return true; }
  virtual void end_close(void (*ended)(void*), void* argument) noexcept = 0;
  // Set while a batch of its stream holds work of this plan that has not been launched.
  std::atomic<bool> gathered_{false};

 private:
  KernelWatchdog* watchdog_ = nullptr;
  std::atomic<KernelQueue*> queue_{nullptr};  // the queue that it was last used on
  std::atomic<protocol::Epoch> epoch_{0};     // that a wait reported
  WaitEnds ends_;
  bool in_kernels_ = false;                      // of the program's, too
  std::atomic<KernelQueue*> waits_on_{nullptr};  // the queue whose kernel has reported its wait
  void (*ended_)(void*) = nullptr;
  void* ended_argument_ = nullptr;
};

}  // namespace penstock::gpu
