// SPDX-License-Identifier: Apache-2.0
#include "transport/cuda/board.hpp"

#include <atomic>
#include <string>
#include <utility>

#include "device/cuda/driver.hpp"
#include "device/cuda/runtime.hpp"
#include "transport/cuda/kernel_plan.hpp"
#include "transport/cuda/watch.hpp"

namespace penstock::transport::cuda {

using base::Error;
using base::ErrorKind;

namespace {

std::uint64_t load(std::uint64_t& word) noexcept {
  return std::atomic_ref(word).load(std::memory_order_acquire);
}

Report& report_of(const Board::Memory& memory) noexcept {
  return *static_cast<Report*>(memory.report.get());
}

}  // namespace

Board::Board(const device::cuda::Stream& stream, Memory memory, bool dependent_launch, Watch& watch)
    : stream_(stream.handle()),
      device_(stream.device()),
      context_(stream.context()),
      memory_(std::move(memory)),
      dependent_launch_(dependent_launch),
      watch_(watch) {
  watch_.add(*this);
}

Board::~Board() {
  watch_.remove(*this);
}

Launch Board::launch_on(cudaStream_t stream) const noexcept {
  return {stream, &report_of(memory_), reinterpret_cast<Sticky*>(memory_.sticky.get()), dependent_launch_};
}

// In any order: a start waits for nobody but a wait that stands before it, and each wait ends without the others.
void Board::flush() noexcept {
  std::optional<device::cuda::DeviceGuard> guard;
  cudaError_t code = cudaSuccess;
  for (const auto& gathering : gatherings_) {
    if (!gathering || gathering->empty()) continue;
    if (!guard && device::cuda::current_context() != context_) guard.emplace(device_);
    if (const cudaError_t failed = gathering->launch(launch_on(stream_)); failed != cudaSuccess) code = failed;
  }
  if (code != cudaSuccess)
    sink_->fail(Error(ErrorKind::stream, std::string("a kernel cannot be launched: ") + cudaGetErrorString(code)));
}

void Board::synchronized() noexcept {
  watch_.look_at(*this);
}

void Board::abort(const Error& error) noexcept {
  {
    const std::lock_guard lock(error_mutex_);
    if (abort_error_) return;
    abort_error_ = error;
  }
  std::atomic_ref(report_of(memory_).abort).store(1, std::memory_order_release);
}

void Board::change_blocked(KernelPlan* plan) noexcept {
  if (plan == blocked_) return;
  if (blocked_ != nullptr) sink_->unblocked(*blocked_);
  blocked_ = plan;
  if (blocked_ != nullptr) sink_->blocked_since(*blocked_);
}

Error Board::error_of(Failure failure, const KernelPlan* plan) {
  if (failure != Failure::released && plan != nullptr) return plan->error_of(failure);
  const std::lock_guard lock(error_mutex_);
  return abort_error_ ? *abort_error_ : Error(ErrorKind::internal, "a wait has ended without a reason");
}

void Board::look_at_waits() noexcept {
  Report& report = report_of(memory_);
  KernelPlan* const waiting = watch_.find(load(report.waiting));
  if (waiting != nullptr) waiting->waits_for(load(report.epoch));
  change_blocked(waiting);
  if (waiting == nullptr) return;
  for (KernelPlan* each : watch_.plans())
    if (each != nullptr) each->note_death();
  waiting->look_for_lost_cause();
}

void Board::look() noexcept {
  if (sink_ == nullptr) return;
  if (!failed_) look_at_waits();
  const std::uint64_t failed = load(report_of(memory_).failed);
  if (failed == 0) return;
  // What kernels have given up, their peers' hosts must learn: before the program does, which may then use the buffers
  // again. Kernels behind the failed one give up their pairs later, perhaps after a start on another queue.
  for (KernelPlan* each : watch_.plans())
    if (each != nullptr) each->follow(*this);
  if (std::exchange(failed_, true)) return;
  change_blocked(nullptr);
  // What waits in the same kernel, or beside it, ends too.
  std::atomic_ref(report_of(memory_).abort).store(1, std::memory_order_release);
  sink_->fail(error_of(static_cast<Failure>(failed >> 32), watch_.find(failed & 0xffffffffu)));
}

}  // namespace penstock::transport::cuda
