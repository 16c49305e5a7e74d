// SPDX-License-Identifier: Apache-2.0
#include "gpu/wait_end.hpp"

#include <string>
#include <utility>

#include "device/gpu.hpp"
#include "device/gpu/runtime.hpp"

namespace penstock::gpu {

using base::Error;
using base::ErrorKind;
using device::gpu::DeviceGuard;
using device::gpu::Stream;

namespace {

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorKind::stream, "the request cannot change streams: " + why +
                                     "; call PST_Queue_wait on the queue that it was last "
                                     "started on, while its stream is there and not captured");
}

}  // namespace

WaitEnd::~WaitEnd() {
  drop();
}

void WaitEnd::drop() noexcept {
  if (event_ == nullptr) return;
  const DeviceGuard guard(device_);
  cudaEventDestroy(std::exchange(event_, nullptr));
  recorded_ = false;
}

// An event belongs to the device of the stream that it is recorded on.
cudaError_t WaitEnd::put_event(const Stream& stream) noexcept {
  const DeviceGuard guard(stream.device());
  if (event_ != nullptr && device_ != stream.device()) {
    cudaEventDestroy(event_);
    event_ = nullptr;
  }
  cudaError_t code = cudaSuccess;
  if (event_ == nullptr) {
    device_ = stream.device();
    code = cudaEventCreateWithFlags(&event_, cudaEventDisableTiming);
    if (code != cudaSuccess) event_ = nullptr;
  }
  if (code == cudaSuccess) code = cudaEventRecord(event_, stream.handle());
  if (code != cudaSuccess) (void)cudaGetLastError();  // told here, not by the program's next call
  return code;
}

void WaitEnd::order(const Stream& last, const Stream& next) {
  const std::uint64_t capture = next.last_capture();
  if (!recorded_ || capture_ != capture) {
    // The host waits for nothing that is captured.
    if (capture == 0 && synchronizations_ != ~std::uint64_t{0} &&
        last.synchronizations() != synchronizations_)
      return;
    // An event would become part of a graph that the wait is not in.
    if (last.current_capture() != capture)
      refuse("the stream of its last wait is being captured now");
    if (const cudaError_t code = put_event(last); code != cudaSuccess)
      refuse(std::string("no event can be recorded on the stream of its last wait: ") +
             cudaGetErrorString(code));
    recorded_ = true;
    capture_ = capture;
  }
  const DeviceGuard guard(next.device());
  const cudaError_t code = cudaStreamWaitEvent(next.handle(), event_, 0);
  if (device::gpu::succeeded(code)) return;
  refuse(std::string("its stream cannot wait for an event: ") + cudaGetErrorString(code));
}

}  // namespace penstock::gpu
