// SPDX-License-Identifier: Apache-2.0
// A CUDA stream of the program's: legacy default, per-thread default, blocking or not, captured or
// not.
#pragma once

#include <atomic>
#include <gpu_runtime.hpp>
#include <memory>

#include "device/stream.hpp"

namespace penstock::device::gpu {

// What a transport keeps for a stream that it serves.
class Attachment {
 public:
  virtual ~Attachment() = default;
  virtual void flush() noexcept = 0;       // launches what has been gathered since the last flush
  virtual void end_starts() noexcept = 0;  // waits of the same call come next
  virtual void end_gathered_call() noexcept = 0;  // an enqueue call that leaves that to a later one
  // The stream has just run dry, or has failed: what its kernels have reported is to be told, and
  // what they never will.
  virtual void synchronized(cudaError_t code) noexcept = 0;
  // Behind that: false, after a failure, while something moves the program's buffers still.
  virtual bool untouched() noexcept = 0;
};

class Stream final : public device::Stream {
 public:
  explicit Stream(cudaStream_t handle);  // throws Error(stream)

  cudaStream_t handle() const noexcept { return handle_; }
  int device() const noexcept { return device_; }
  void* context() const noexcept { return context_; }  // of the device
  // How often it has been synchronised through its queue, which is never enqueued on meanwhile:
  // what was enqueued before the number rose has ended.
  std::uint64_t synchronizations() const noexcept {
    return synchronizations_.load(std::memory_order_acquire);
  }
  bool waits_for_legacy_stream() const noexcept;  // and it for this one
  void attach(std::unique_ptr<Attachment> attachment) { attachment_ = std::move(attachment); }
  Attachment* attachment() const noexcept { return attachment_.get(); }

  void flush() noexcept override;
  void end_starts() noexcept override;
  void end_gathered_call() noexcept override;
  void leave() noexcept override { attachment_.reset(); }
  std::uint64_t capture() const override;
  bool is_captured() const noexcept override { return current_capture() != 0; }
  // Does what capture() does, for any thread. A capture that can only be ended counts, too: what is
  // enqueued then fails, and what was enqueued before it may still run.
  std::uint64_t current_capture() const noexcept;
  static constexpr std::uint64_t broken_capture = ~std::uint64_t{0};
  void wait_for_device() const noexcept override;
  // Waits where an end cannot be enqueued. Errors are left to the call that finds them next.
  void wait_until_dry() const noexcept;
  void come_behind(const device::Stream& other) noexcept override;
  std::uint64_t last_capture() const noexcept { return last_capture_; }  // what capture() last said
  // Keeps it until the graph that is being captured is destroyed. Returns false, and keeps nothing,
  // where no graph is captured or there is nothing to keep.
  bool keep_with_graph(std::shared_ptr<void> kept) const noexcept;
  void synchronize(const std::function<bool()>& meanwhile) override;
  bool idle() const override;

 private:
  cudaError_t query() const noexcept;
  static void await(const std::function<bool()>& ended, const std::function<bool()>& meanwhile);
  cudaError_t await_end(const std::function<bool()>& meanwhile) const;

  cudaStream_t handle_;
  int device_ = 0;
  void* context_ = nullptr;
  mutable std::uint64_t last_capture_ = 0;
  std::atomic<std::uint64_t> synchronizations_{0};
  std::unique_ptr<Attachment> attachment_;
};

}  // namespace penstock::device::gpu
