// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernel_plan.hpp"

#include <fmt/format.h>

#include <exception>

#include "gpu/kernel_queue.hpp"
#include "gpu/kernel_watchdog.hpp"

namespace penstock::gpu {

using base::Error;

std::uint32_t KernelPlan::enter(KernelWatchdog& watchdog) {
  watchdog_ = &watchdog;
  return watchdog.add(*this);
}

void KernelPlan::leave_watch() noexcept {
  if (watchdog_ != nullptr) watchdog_->remove(*this);
}

KernelQueue& KernelPlan::kernel_queue_on(device::Stream& stream, transport::Sink& sink) noexcept {
  auto& cuda_stream = static_cast<device::gpu::Stream&>(stream);
  end_on(cuda_stream).enqueued(cuda_stream);
  auto& queue = static_cast<KernelQueue&>(*cuda_stream.attachment());
  queue_.store(&queue, std::memory_order_relaxed);
  queue.report_to(sink);
  return queue;
}

void KernelPlan::hand_over(device::Stream* last, device::Stream& next) {
  if (last == nullptr) return;
  try {
    auto& next_stream = static_cast<device::gpu::Stream&>(next);
    end_on(next_stream).order(static_cast<device::gpu::Stream&>(*last), next_stream);
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}: {}", label(), error.text()));
  }
}

void KernelPlan::wait_flushed(device::Stream& stream) noexcept {
  const auto& cuda_stream = static_cast<device::gpu::Stream&>(stream);
  end_on(cuda_stream).record(cuda_stream);
}

void KernelPlan::cancel_wait(const Error& error) noexcept {
  KernelQueue* const queue = queue_.load(std::memory_order_relaxed);
  if (queue == nullptr) return;
  queue->abort(
      base::error_by(error.kind(), [&] { return fmt::format("{}: {}", label(), error.text()); }));
}

void KernelPlan::forget(const KernelQueue& queue) noexcept {
  if (used_on(queue)) queue_.store(nullptr, std::memory_order_relaxed);
}

}  // namespace penstock::gpu
