// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernel_queue.hpp"

#include <fmt/format.h>

#include <atomic>
#include <optional>
#include <utility>

#include "device/gpu/driver.hpp"
#include "device/gpu/runtime.hpp"
#include "gpu/kernel_plan.hpp"
#include "gpu/kernel_watchdog.hpp"

namespace penstock::gpu {

using base::Error;
using base::ErrorKind;

namespace {

template <class Word>
Word load(Word& word) noexcept {
  return std::atomic_ref(word).load(std::memory_order_acquire);
}

Report& report_of(const KernelQueue::Memory& memory) noexcept {
  return *static_cast<Report*>(memory.report.get());
}

Error failure(const char* what, cudaError_t code) noexcept {
  return base::error_by(ErrorKind::stream,
                        [&] { return fmt::format("{}: {}", what, cudaGetErrorString(code)); });
}

}  // namespace

KernelQueue::KernelQueue(const device::gpu::Stream& stream, Memory memory, bool dependent_launch,
                         KernelWatchdog& watchdog)
    : stream_(stream.handle()),
      device_(stream.device()),
      context_(stream.context()),
      memory_(std::move(memory)),
      dependent_launch_(dependent_launch),
      watchdog_(watchdog) {
  Report& report = report_of(memory_);
  report.crowd = reinterpret_cast<Word64*>(memory_.crowd.get());
  report.room = ~0u;
  watchdog_.add(*this);
}

KernelQueue::~KernelQueue() {
  watchdog_.remove(*this);
}

Launch KernelQueue::launch_on(cudaStream_t stream) const noexcept {
  return {stream, &report_of(memory_), reinterpret_cast<QueueFailure*>(memory_.queue_failure.get()),
          dependent_launch_, standing_ != Standing::all_stay};
}

void KernelQueue::share_device(std::shared_ptr<WaitPlaces> places) {
  place_ = places->take(WaitPlaces::User::queue);
  std::atomic_ref(report_of(memory_).room).store(places->room(), std::memory_order_relaxed);
  places_ = std::move(places);
}

// A graph keeps its place until it is destroyed, which costs each of its launches some 7 us
// (docs/performance.md): the first one of a queue shares the queue's.
Standing KernelQueue::choose_standing(const device::gpu::Stream& stream) noexcept {
  if (!places_) return standing_;
  if (first_capture_ == 0) first_capture_ = stream.last_capture();
  if (stream.last_capture() == first_capture_ || stream.last_capture() == 0)
    return standing_ = place_.standing;
  if (capture_ != stream.last_capture()) {
    capture_ = stream.last_capture();
    WaitPlaces::Place place = places_->take(WaitPlaces::User::graph);
    in_capture_ =
        stream.keep_with_graph(std::move(place.held)) ? place.standing : Standing::at_gates;
  }
  return standing_ = in_capture_;
}

// The transports' batches may be launched in any order: a start waits only for a wait before it,
// and each wait ends without the others.
void KernelQueue::flush() noexcept {
  std::optional<device::gpu::DeviceGuard> guard;
  for (const auto& batch : batches_) {
    if (!batch || batch->empty()) continue;
    if (!guard && device::gpu::current_context() != context_) guard.emplace(device_);
    if (const cudaError_t code = batch->launch(launch_on(stream_)); code != cudaSuccess)
      fail_launch(code);
  }
}

// No other batch may have starts: they would stand behind the waits that are to come.
void KernelQueue::end_starts() noexcept {
  const LaunchBatch* gathered = nullptr;
  for (const auto& batch : batches_) {
    if (!batch || batch->empty()) continue;
    if (gathered != nullptr) return flush();
    gathered = batch.get();
  }
  const bool together =
      gathered != nullptr && standing_ == Standing::all_stay && gathered->awaits_waits();
  if (!together) flush();
}

void KernelQueue::end_gathered_call() noexcept {
  for (const auto& batch : batches_)
    if (batch) batch->end_call();
}

// Before the next step: what has not been packed is not to be sent.
void KernelQueue::fail_launch(cudaError_t code) noexcept {
  const Error error = failure("a kernel cannot be launched", code);
  if (device::gpu::ends_context(code)) watchdog_.lose(device_, error);
  fail(error);
}

// In the order of the stream, so that graphs which are launched later find it too.
void KernelQueue::fail(const Error& error) noexcept {
  std::optional<device::gpu::DeviceGuard> guard;
  if (device::gpu::current_context() != context_) guard.emplace(device_);
  if (cudaMemsetAsync(memory_.queue_failure.get(), 1, sizeof(QueueFailure::failed), stream_) !=
      cudaSuccess)
    (void)cudaGetLastError();
  fail_sink(error);
}

void KernelQueue::fail_sink(const Error& error) noexcept {
  failed_by_host_.store(true, std::memory_order_release);
  if (transport::Sink* const sink = sink_.load(std::memory_order_acquire); sink != nullptr)
    sink->fail(error);
}

void KernelQueue::poison(std::uint32_t id) noexcept {
  watchdog_.poison(id);
}

void KernelQueue::synchronized(cudaError_t code) noexcept {
  watchdog_.look_at(*this);
  if (device::gpu::ends_context(code)) watchdog_.lose(device_, failure("the GPU has failed", code));
}

bool KernelQueue::untouched() noexcept {
  const transport::Sink* const sink = sink_.load(std::memory_order_acquire);
  return sink == nullptr || !sink->failed() || watchdog_.untouched(*this);
}

void KernelQueue::abort(const Error& error) noexcept {
  if (!abort_error_.set(error)) return;
  std::atomic_ref(report_of(memory_).abort).store(1, std::memory_order_release);
}

void KernelQueue::change_blocked(KernelPlan* plan, protocol::Epoch epoch) noexcept {
  if (plan == blocked_ && epoch == blocked_epoch_) return;
  transport::Sink& sink = *sink_.load(std::memory_order_acquire);
  if (blocked_ != nullptr) sink.unblocked(*blocked_);
  if (blocked_ != nullptr && blocked_ != plan) blocked_->waits_no_more(*this);
  blocked_ = plan;
  blocked_epoch_ = epoch;
  if (blocked_ != nullptr) sink.blocked_since(*blocked_);
}

Error KernelQueue::error_of(Failure failure, const KernelPlan* plan) {
  if (failure == Failure::handle_freed)
    return Error(ErrorKind::request,
                 "a kernel uses the handle of a request that has been freed: free requests behind "
                 "the last kernel that uses them, and take a handle of each new one");
  if (failure != Failure::released && plan != nullptr) return plan->error_of(failure);
  const Error* const reason = abort_error_.get();
  return reason != nullptr ? *reason
                           : Error(ErrorKind::internal, "a wait has ended without a reason");
}

void KernelQueue::poll_waits() noexcept {
  Report& report = report_of(memory_);
  KernelPlan* waiting = watchdog_.find(load(report.waiting));
  if (waiting != nullptr)
    waiting->waits_for(waiting->awaited_epoch(), *this);
  else
    waiting = poll_gate();
  change_blocked(waiting, waiting == nullptr ? 0 : waiting->reported_epoch());
  if (waiting == nullptr) return;
  // Others may have come.
  if (places_) std::atomic_ref(report.room).store(places_->room(), std::memory_order_relaxed);
  for (KernelPlan* each : watchdog_.plans())
    if (each != nullptr) each->note_death();
  waiting->look_for_lost_cause();
}

// The plan before whose kernel the stream has stood since the last poll.
KernelPlan* KernelQueue::poll_gate() noexcept {
  Report& report = report_of(memory_);
  const AtGate before = std::exchange(at_gate_, {});
  const std::uint32_t id = load(report.gated);
  KernelPlan* const plan = watchdog_.find(id);
  if (plan == nullptr) return nullptr;
  const protocol::Epoch epoch = plan->epoch_at_gate();
  // A gate is left before the next epoch is written: found again, this is the epoch that stands
  // there.
  if (load(report.gated) != id) return nullptr;
  at_gate_ = {id, epoch};
  if (at_gate_ != before) return nullptr;
  plan->waits_for(epoch, *this);
  return plan;
}

// No kernel runs at a gate that could look at the abort word. Again and again, since each kernel
// behind it may stand at a gate of its own.
void KernelQueue::let_through() noexcept {
  Report& report = report_of(memory_);
  if (load(report.abort) == 0 && load(report.failed) == 0) return;
  if (KernelPlan* const plan = watchdog_.find(load(report.gated)); plan != nullptr)
    plan->open_gate();
}

void KernelQueue::poll() noexcept {
  transport::Sink* const sink = sink_.load(std::memory_order_acquire);
  if (sink == nullptr) return;
  if (!failed_) poll_waits();
  let_through();
  const std::uint64_t failed = load(report_of(memory_).failed);
  if (failed == 0 && !failed_by_host_.load(std::memory_order_acquire)) return;
  // What kernels have given up, their peers' hosts must learn: before the program does, which may
  // then use the buffers again. Kernels behind the failed one give up their pairs later, perhaps
  // after a start on another queue.
  for (KernelPlan* each : watchdog_.plans())
    if (each != nullptr) each->follow(*this);
  if (std::exchange(failed_, true)) return;
  change_blocked(nullptr);
  // What waits in the same kernel, or beside it, ends too.
  std::atomic_ref(report_of(memory_).abort).store(1, std::memory_order_release);
  if (failed != 0)
    sink->fail(error_of(static_cast<Failure>(failed >> 32), watchdog_.find(failed & 0xffffffffu)));
}

}  // namespace penstock::gpu
