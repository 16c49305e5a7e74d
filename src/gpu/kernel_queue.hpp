// SPDX-License-Identifier: Apache-2.0
// What the GPU forms keep for one queue: the work of the enqueue call under way, which few kernels
// will serve, and the memory in which the queue's kernels report.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/first_error.hpp"
#include "device/gpu/stream.hpp"
#include "gpu/launch.hpp"
#include "gpu/wait_places.hpp"
#include "transport/plan.hpp"

namespace penstock::gpu {

class KernelPlan;
class KernelWatchdog;

// What an enqueue call launches, in this order: messages with gaps are packed before the kernels
// that move them, and unpacked behind these. The last step tells the engine of enqueued messages
// that what was unpacked for it is in the program's buffers.
enum class LaunchStep : std::uint8_t {
  pack,
  rally,
  peer,
  window,
  relay,
  enqueued,
  unpack,
  tell_unpacked
};
inline constexpr std::size_t launch_steps = 8;

// What an enqueue call has gathered for the kernels of one step.
class LaunchBatch {
 public:
  virtual ~LaunchBatch() = default;
  virtual bool empty() const noexcept = 0;
  // Whether what it holds, starts alone, may wait for waits to share a launch with.
  virtual bool awaits_waits() const noexcept { return false; }
  virtual void end_call() noexcept {}                             // what follows is another call's
  virtual cudaError_t launch(const Launch& launch) noexcept = 0;  // all of it; empty afterwards
};

class KernelQueue final : public device::gpu::Attachment {
 public:
  struct Memory {
    std::shared_ptr<void> report;  // pinned
    std::shared_ptr<std::byte> queue_failure;
    std::shared_ptr<std::byte> crowd;  // of the device: Report::crowd
  };
  KernelQueue(const device::gpu::Stream& stream, Memory memory, bool dependent_launch,
              KernelWatchdog& watchdog);
  ~KernelQueue() override;

  void add(LaunchStep step, std::unique_ptr<LaunchBatch> batch) noexcept {
    batches_[at(step)] = std::move(batch);
  }
  LaunchBatch* batch(LaunchStep step) const noexcept { return batches_[at(step)].get(); }
  // Where its kernels report: whoever keeps it may report when the queue has gone.
  const Memory& memory() const noexcept { return memory_; }
  // The launches of this queue's kernels, on its stream or another one.
  Launch launch_on(cudaStream_t stream) const noexcept;

  // Asks for a place for this queue's waits now, and for one for each graph that is captured on it
  // but the first.
  void share_device(std::shared_ptr<WaitPlaces> places);
  // Enqueue calls: how the waits of the one under way stand.
  Standing choose_standing(const device::gpu::Stream& stream) noexcept;

  // Enqueue calls. Kernels are launched when what has been gathered fills one, and by flush().
  void report_to(transport::Sink& sink) noexcept { sink_.store(&sink, std::memory_order_release); }
  void flush() noexcept override;
  void end_starts() noexcept override;
  void end_gathered_call() noexcept override;
  void synchronized(cudaError_t code) noexcept override;
  bool untouched() noexcept override;
  // The queue fails by something that no kernel knows of: kernels that are not launched yet are to
  // do nothing.
  void fail(const base::Error& error) noexcept;
  void fail_launch(cudaError_t code) noexcept;  // as a kernel could not be launched
  // Poisons a plan whose kernel could not be launched, by its id in reports.
  void poison(std::uint32_t id) noexcept;

  // Ends every wait of the queue; the first error counts. Any thread.
  void abort(const base::Error& error) noexcept;
  const base::Error* aborted_by() const noexcept { return abort_error_.get(); }  // null: it is not

 private:
  friend class KernelWatchdog;
  static constexpr std::size_t at(LaunchStep step) noexcept {
    return static_cast<std::size_t>(step);
  }
  // Passes on what the kernels have reported. Under the watchdog's lock.
  void poll() noexcept;
  void poll_waits() noexcept;
  KernelPlan* poll_gate() noexcept;
  void let_through() noexcept;
  // The waits of two epochs are two, however close the second follows.
  void change_blocked(KernelPlan* plan, protocol::Epoch epoch = 0) noexcept;
  void fail_sink(const base::Error& error) noexcept;
  base::Error error_of(Failure failure, const KernelPlan* plan);

  cudaStream_t stream_;
  int device_;
  void* context_;
  Memory memory_;
  bool dependent_launch_;
  KernelWatchdog& watchdog_;
  std::atomic<transport::Sink*> sink_{nullptr};  // enqueue calls set it, the watchdog asks for it
  std::shared_ptr<WaitPlaces> places_;           // null: all blocks stay, always
  WaitPlaces::Place place_{Standing::all_stay, nullptr};  // the queue's
  std::uint64_t first_capture_ = 0;
  std::uint64_t capture_ = 0;  // that was last asked about
  Standing in_capture_ = Standing::all_stay;
  Standing standing_ = Standing::all_stay;  // of the call under way
  std::array<std::unique_ptr<LaunchBatch>, launch_steps> batches_;
  struct AtGate {
    std::uint32_t id = 0;  // in reports; 0: at none
    protocol::Epoch epoch = 0;
    bool operator==(const AtGate&) const = default;
  };
  AtGate at_gate_;                 // when it was looked at last
  KernelPlan* blocked_ = nullptr;  // what the sink has been told of
  protocol::Epoch blocked_epoch_ = 0;
  bool failed_ = false;  // and whether
  std::atomic<bool> failed_by_host_{false};
  base::FirstError abort_error_;
};

}  // namespace penstock::gpu
