// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernel_plan.hpp"

#include <fmt/format.h>

#include <exception>

#include "device/gpu.hpp"
#include "device/gpu/runtime.hpp"
#include "gpu/kernel_queue.hpp"
#include "gpu/kernel_watchdog.hpp"

namespace penstock::gpu {

using base::Error;
using base::ErrorKind;

void require_device(const std::string& label, const device::Stream& stream, int device) {
  if (stream.kind() != device::StreamKind::cuda)
    throw Error(ErrorKind::unsupported,
                label + ": the buffer is in " PENSTOCK_GPU
                        " memory, which is served on queues of type PST_QUEUE_" PENSTOCK_GPU);
  const int of_stream = static_cast<const device::gpu::Stream&>(stream).device();
  if (of_stream != device)
    throw Error(ErrorKind::unsupported,
                fmt::format("{}: the buffer is on device {}, the queue's stream on device {}",
                            label, device, of_stream));
}

std::uint32_t KernelPlan::enter(KernelWatchdog& watchdog) {
  watchdog_ = &watchdog;
  return watchdog.add(*this);
}

void KernelPlan::watch_in_kernels() {
  in_kernels_ = true;
  watchdog_->add_in_kernels(*this);
}

void KernelPlan::leave_watch() noexcept {
  if (watchdog_ != nullptr) watchdog_->remove(*this);
}

KernelQueue& KernelPlan::kernel_queue_on(device::Stream& stream, transport::Sink& sink) noexcept {
  auto& cuda_stream = static_cast<device::gpu::Stream&>(stream);
  ends_.on(cuda_stream).enqueued(cuda_stream);
  auto& queue = static_cast<KernelQueue&>(*cuda_stream.attachment());
  queue_.store(&queue, std::memory_order_relaxed);
  queue.report_to(sink);
  return queue;
}

// A stream is touched for this only where a batch is open on it that holds work of this plan: whose
// program then uses both from one thread.
void KernelPlan::launch_gathered(device::Stream& stream) noexcept {
  if (gathered_.load(std::memory_order_relaxed)) stream.flush();
}

void KernelPlan::hand_over(device::Stream* last, device::Stream& next) {
  if (last == nullptr) return;
  launch_gathered(*last);
  next.flush();  // what a batch has gathered there comes first
  try {
    auto& next_stream = static_cast<device::gpu::Stream&>(next);
    if (in_kernels_) ends_.on(next_stream).forget();
    ends_.on(next_stream).order(static_cast<device::gpu::Stream&>(*last), next_stream);
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}: {}", label(), error.text()));
  }
}

void KernelPlan::wait_flushed(device::Stream& stream) noexcept {
  launch_gathered(stream);
  const auto& cuda_stream = static_cast<device::gpu::Stream&>(stream);
  ends_.on(cuda_stream).record(cuda_stream);
}

void KernelPlan::close(device::Stream& stream, void (*ended)(void*), void* argument) {
  auto& gpu_stream = static_cast<device::gpu::Stream&>(stream);
  launch_gathered(stream);
  ended_ = ended;
  ended_argument_ = argument;
  ends_.drop();
  const device::gpu::DeviceGuard guard(gpu_stream.device());
  if (!gpu_stream.is_captured()) {
    const auto run_end = [](void* plan) {
      auto& self = *static_cast<KernelPlan*>(plan);
      self.end_close(self.ended_, self.ended_argument_);
    };
    if (prepare_close(gpu_stream) &&
        cudaLaunchHostFunc(gpu_stream.handle(), run_end, this) == cudaSuccess)
      return;
    gpu_stream.wait_until_dry();  // what was enqueued for the pair may still be under way
  }
  close();
  ended(argument);
}

Error KernelPlan::started_twice() const {
  return Error(
      ErrorKind::already_started,
      label() +
          ": started by a graph again before a wait: have the wait of each start in its capture");
}

void KernelPlan::cancel_wait(const Error& error) noexcept {
  // Kernels of the program's may wait on another queue than the last call's.
  KernelQueue* queue = waits_on_.load(std::memory_order_relaxed);
  if (queue == nullptr) queue = queue_.load(std::memory_order_relaxed);
  if (queue == nullptr) return;
  queue->abort(
      base::error_by(error.kind(), [&] { return fmt::format("{}: {}", label(), error.text()); }));
}

void KernelPlan::forget(const KernelQueue& queue) noexcept {
  if (used_on(queue)) queue_.store(nullptr, std::memory_order_relaxed);
}

}  // namespace penstock::gpu
