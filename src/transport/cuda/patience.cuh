// SPDX-License-Identifier: Apache-2.0
// A wait that lasts tells the host so, and looks now and then whether the host wants it to end.
#pragma once

#include "transport/cuda/access.cuh"

namespace penstock::transport::cuda {

// One thread's. Time is what counts, not looks; but the clock is read only every so many looks, since it costs more.
class Patience {
 public:
  __device__ Patience(Report& report, std::uint32_t id, Word64 epoch) : report_(report), id_(id), epoch_(epoch) {}

  static constexpr unsigned looks_between = 16;

  // After looks_between looks in vain. True: the wait is to end.
  __device__ bool late() {
    const Word64 now = nanoseconds();
    if (since_ == 0) since_ = last_ = now;
    if (now - last_ < interval) return false;
    last_ = now;
    if (SystemWord(report_.abort).load(::cuda::memory_order_relaxed) != 0) return true;
    if (now - since_ >= worth_a_line) tell();
    return false;
  }

  __device__ void ended() {
    if (told_ && SystemWord(report_.waiting).load(::cuda::memory_order_relaxed) == id_ + 1u)
      SystemWord(report_.waiting).store(0, ::cuda::memory_order_relaxed);
  }

 private:
  static constexpr Word64 interval = 100'000;  // looks at host memory cost a bus transfer each
  static constexpr Word64 worth_a_line = 1'000'000;

  // Of several pairs that are waited for, one is named.
  __device__ void tell() {
    SystemWord waiting(report_.waiting);
    if (waiting.load(::cuda::memory_order_relaxed) != 0) return;
    SystemWord(report_.epoch).store(epoch_, ::cuda::memory_order_relaxed);
    waiting.store(id_ + 1u, ::cuda::memory_order_release);  // the epoch comes first
    told_ = true;
  }

  Report& report_;
  std::uint32_t id_;
  Word64 epoch_;
  Word64 since_ = 0;
  Word64 last_ = 0;
  bool told_ = false;
};

}  // namespace penstock::transport::cuda
