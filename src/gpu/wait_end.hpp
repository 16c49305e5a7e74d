// SPDX-License-Identifier: Apache-2.0
// Where a plan's last wait ends in its stream, for a start on another stream. A plan that stays on
// its stream pays nothing for it but a load; one that has changed streams once, an event for each
// wait.
#pragma once

#include <gpu_runtime.hpp>

#include <cstdint>

#include "base/no_copy.hpp"
#include "device/gpu/stream.hpp"

namespace penstock::gpu {

class WaitEnd : private base::NoCopy {
 public:
  ~WaitEnd();
  // Before the half ends on a thread of the driver, which must make no call of it.
  void drop() noexcept;

  // The plan's work is about to be enqueued there.
  void enqueued(const device::gpu::Stream& stream) noexcept {
    synchronizations_ = stream.synchronizations();
    recorded_ = false;
  }
  // It has been: this is the point that order() waits for.
  void record(const device::gpu::Stream& stream) noexcept {
    recorded_ = put_event(stream) == cudaSuccess;
    capture_ = stream.last_capture();
  }
  // The program's own kernels use the half: no call tells where they end.
  void forget() noexcept {
    recorded_ = false;
    synchronizations_ = ~std::uint64_t{0};
  }
  // What `next` does from now on comes after that point of `last`; where it was not recorded, or in
  // another capture, after all that `last` holds by now, unless the host has synchronised that
  // since. Throws Error(stream).
  void order(const device::gpu::Stream& last, const device::gpu::Stream& next);

 private:
  cudaError_t put_event(const device::gpu::Stream& stream) noexcept;

  cudaEvent_t event_ = nullptr;
  int device_ = -1;  // of the event
  bool recorded_ = false;
  std::uint64_t capture_ = 0;           // in which it was recorded
  std::uint64_t synchronizations_ = 0;  // of the stream, before the wait was enqueued
};

// Waits outside captures and inside have an end each: between them there is no order. Only enqueue
// calls use them.
class WaitEnds {
 public:
  WaitEnd& on(const device::gpu::Stream& stream) noexcept {
    return stream.last_capture() == 0 ? direct_ : captured_;
  }
  void drop() noexcept {
    direct_.drop();
    captured_.drop();
  }

 private:
  WaitEnd direct_;
  WaitEnd captured_;
};

}  // namespace penstock::gpu
