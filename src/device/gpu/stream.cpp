// SPDX-License-Identifier: Apache-2.0
#include "device/gpu/stream.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>
#include <utility>

#include "device/gpu.hpp"
#include "device/gpu/driver.hpp"
#include "device/gpu/runtime.hpp"

namespace penstock::device::gpu {

using base::Error;
using base::ErrorKind;

namespace {

constexpr std::chrono::microseconds meanwhile_interval{100};
// A sleep takes half as long again as it says, so only long waits have any.
constexpr std::chrono::milliseconds wait_without_sleep{1};
// Between two polls, each of which takes a lock of the driver that the program's launches want.
constexpr std::chrono::microseconds longest_yield{20};

// The program has told the device to let its threads sleep.
bool may_sleep() noexcept {
  unsigned flags = 0;
  return cudaGetDeviceFlags(&flags) == cudaSuccess &&
         (flags & cudaDeviceScheduleMask) == cudaDeviceScheduleBlockingSync;
}

bool is_default(cudaStream_t handle) noexcept {
  return handle == nullptr || handle == cudaStreamLegacy || handle == cudaStreamPerThread;
}

// The default streams are those of the caller's current device.
int device_of(cudaStream_t handle) {
  int device = 0;
  const cudaError_t code =
      is_default(handle) ? cudaGetDevice(&device) : cudaStreamGetDevice(handle, &device);
  if (succeeded(code)) return device;
  throw Error(ErrorKind::stream,
              std::string("the " PENSTOCK_GPU " stream of a new queue is not valid: ") +
                  cudaGetErrorString(code) +
                  " (PST_Queue_init takes the address of the handle, PST_Queue_create the handle)");
}

}  // namespace

Stream::Stream(cudaStream_t handle)
    : device::Stream(StreamKind::cuda), handle_(handle), device_(device_of(handle)) {
  const DeviceGuard guard(device_);
  const RelaxedCaptures relaxed;
  check(cudaFree(nullptr), "making the device's context");
  context_ = current_context();
}

bool Stream::waits_for_legacy_stream() const noexcept {
  unsigned flags = 0;
  return !succeeded(cudaStreamGetFlags(handle_, &flags)) || (flags & cudaStreamNonBlocking) == 0;
}

void Stream::end_gathered_call() noexcept {
  if (attachment_) attachment_->end_gathered_call();
}

void Stream::end_starts() noexcept {
  if (attachment_) attachment_->end_starts();
}

void Stream::flush() noexcept {
  if (attachment_) attachment_->flush();
}

std::uint64_t Stream::capture() const {
  return last_capture_ = current_capture();
}

std::uint64_t Stream::current_capture() const noexcept {
  static const auto is_capturing = reinterpret_cast<CUresult (*)(CUstream, CUstreamCaptureStatus*)>(
      driver_function("cuStreamIsCapturing", 10000));
  CUstreamCaptureStatus quick{};
  if (is_capturing != nullptr && current_context() == context_ &&
      is_capturing(handle_, &quick) == CUDA_SUCCESS && quick == CU_STREAM_CAPTURE_STATUS_NONE)
    return 0;
  cudaStreamCaptureStatus status{};
  unsigned long long id = 0;
  const cudaError_t code = cudaStreamGetCaptureInfo(handle_, &status, &id);
  if (!succeeded(code)) return code == cudaErrorStreamCaptureImplicit ? broken_capture : 0;
  if (status == cudaStreamCaptureStatusInvalidated) return broken_capture;
  return status == cudaStreamCaptureStatusActive ? id + 1 : 0;
}

// Without an event, where there is no memory for one or the device has died, the caller waits.
void Stream::come_behind(const device::Stream& other) noexcept {
  const auto& before = static_cast<const Stream&>(other);
  cudaEvent_t event = nullptr;
  bool ordered = false;
  {
    const DeviceGuard guard(before.device_);
    ordered = cudaEventCreateWithFlags(&event, cudaEventDisableTiming) == cudaSuccess &&
              cudaEventRecord(event, before.handle_) == cudaSuccess;
  }
  const DeviceGuard guard(device_);
  ordered = ordered && cudaStreamWaitEvent(handle_, event, 0) == cudaSuccess;
  if (event != nullptr) cudaEventDestroy(event);  // the driver keeps it until it has been reached
  if (!ordered) before.wait_until_dry();
}

void Stream::wait_until_dry() const noexcept {
  const DeviceGuard guard(device_);
  const RelaxedCaptures relaxed;
  (void)cudaStreamSynchronize(handle_);
  (void)cudaGetLastError();
}

void Stream::wait_for_device() const noexcept {
  const DeviceGuard guard(device_);
  const RelaxedCaptures relaxed;
  (void)cudaDeviceSynchronize();
  (void)cudaGetLastError();
}

#if PENSTOCK_HIP

bool Stream::keep_with_graph(std::shared_ptr<void>) const noexcept {
  return false;
}

#else

bool Stream::keep_with_graph(std::shared_ptr<void> kept) const noexcept {
  if (!kept) return false;
  cudaStreamCaptureStatus status{};
  cudaGraph_t graph = nullptr;
  if (cudaStreamGetCaptureInfo(handle_, &status, nullptr, &graph) != cudaSuccess ||
      status != cudaStreamCaptureStatusActive)
    return false;
  auto* const owner = new (std::nothrow) std::shared_ptr<void>(std::move(kept));
  if (owner == nullptr) return false;
  const auto destroy = [](void* object) { delete static_cast<std::shared_ptr<void>*>(object); };
  cudaUserObject_t object = nullptr;
  if (cudaUserObjectCreate(&object, owner, destroy, 1, cudaUserObjectNoDestructorSync) !=
      cudaSuccess) {
    destroy(owner);
    return false;
  }
  if (cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove) == cudaSuccess)
    return true;
  cudaUserObjectRelease(object);
  return false;
}

#endif

// A stream that is not ready has not failed, and must not look so to who asks for the last error.
cudaError_t Stream::query() const noexcept {
  const cudaError_t code = cudaStreamQuery(handle_);
  if (code == cudaErrorNotReady) (void)cudaGetLastError();
  return code;
}

// Waits as cudaStreamSynchronize would: it keeps its core, or sleeps if the program has said so.
void Stream::await(const std::function<bool()>& ended, const std::function<bool()>& meanwhile) {
  if (ended()) return;
  using std::chrono::steady_clock;
  const auto began = steady_clock::now();
  auto next_call = began + meanwhile_interval;
  const bool sleeps = may_sleep();
  do {
    auto now = steady_clock::now();
    if (meanwhile && now >= next_call) {
      meanwhile();
      next_call = now + meanwhile_interval;
    }
    const auto waited = now - began;
    if (sleeps && waited > wait_without_sleep) {
      std::this_thread::sleep_for(meanwhile_interval);
      continue;
    }
    const auto next_poll = now + std::min<steady_clock::duration>(waited / 64, longest_yield);
    for (; now < next_poll; now = steady_clock::now()) std::this_thread::yield();
  } while (!ended());
}

cudaError_t Stream::await_end(const std::function<bool()>& meanwhile) const {
  if (!meanwhile) return cudaStreamSynchronize(handle_);
  cudaError_t code = cudaSuccess;
  await([&] { return (code = query()) != cudaErrorNotReady; }, meanwhile);
  return code;
}

// Another thread may be capturing, in the mode that forbids looks at streams to all threads.
void Stream::synchronize(const std::function<bool()>& meanwhile) {
  const DeviceGuard guard(device_);
  const RelaxedCaptures relaxed;
  const cudaError_t code = await_end(meanwhile);
  if (attachment_) {
    attachment_->synchronized(code);
    await([&] { return attachment_->untouched(); }, meanwhile);
  }
  check(code, "the queue's " PENSTOCK_GPU " stream has failed");
  synchronizations_.fetch_add(1, std::memory_order_release);
}

bool Stream::idle() const {
  if (is_captured()) return false;
  const DeviceGuard guard(device_);
  const RelaxedCaptures relaxed;
  const cudaError_t code = query();
  if (code == cudaErrorNotReady) return false;
  if (attachment_) attachment_->synchronized(code);
  check(code, "the queue's " PENSTOCK_GPU " stream has failed");
  return true;
}

}  // namespace penstock::device::gpu
