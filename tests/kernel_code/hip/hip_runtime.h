// SPDX-License-Identifier: Apache-2.0
// Just enough of a GPU for penstock/device_code.cuh on the host: each thread of a block is a thread
// of the process, a barrier of the block is a barrier of these. Words are the processor's atomics.
// What needs lanes of a warp, as lines of 128 bytes do, is not there.
#pragma once

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#define __device__
#define __host__
#define __noinline__ __attribute__((noinline))
// One block at a time uses such memory: tests in which several give up are apart.
#define __shared__ static

#define __HIP_MEMORY_SCOPE_SYSTEM 0
#define __HIP_MEMORY_SCOPE_AGENT 0
#define __hip_atomic_load(at, order, scope) __atomic_load_n(at, order)
#define __hip_atomic_store(at, value, order, scope) __atomic_store_n(at, value, order)
#define __hip_atomic_exchange(at, value, order, scope) __atomic_exchange_n(at, value, order)
#define __hip_atomic_fetch_add(at, value, order, scope) __atomic_fetch_add(at, value, order)
#define __hip_atomic_fetch_or(at, value, order, scope) __atomic_fetch_or(at, value, order)
#define __hip_atomic_compare_exchange_strong(at, expected, desired, order, otherwise, scope) \
  __atomic_compare_exchange_n(at, expected, desired, false, order, otherwise)
#define __builtin_amdgcn_fence(...)
#define __builtin_amdgcn_wave_barrier()
#define __builtin_amdgcn_s_sleep(cycles)
#define __builtin_amdgcn_kernarg_segment_ptr() nullptr
#define __builtin_amdgcn_s_memrealtime()                                           \
  static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch() / \
                             std::chrono::nanoseconds(10))

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};
struct uint4 {
  unsigned x, y, z, w;
};

namespace penstock::test {

struct HostBlock {
  explicit HostBlock(dim3 size)
      : size(size), barrier(static_cast<std::ptrdiff_t>(size.x * size.y * size.z)) {}

  // Whether any of the threads says so. Two sums in turn: one is read while the other is made.
  bool any(bool mine, unsigned& turn) {
    std::atomic<int>& sum = sums[turn % 3];
    if (mine) sum.fetch_add(1);
    barrier.arrive_and_wait();
    const bool result = sum.load() != 0;
    sums[(turn + 2) % 3].store(0);  // of the turn before, which all have read
    ++turn;
    return result;
  }

  const dim3 size;
  std::barrier<> barrier;
  std::atomic<int> sums[3]{};
};

inline thread_local HostBlock* block = nullptr;
inline thread_local unsigned turn = 0;

}  // namespace penstock::test

inline thread_local dim3 threadIdx, blockIdx, blockDim, gridDim;

inline void __syncthreads() {
  penstock::test::block->barrier.arrive_and_wait();
}
inline int __syncthreads_or(int value) {
  return penstock::test::block->any(value != 0, penstock::test::turn) ? 1 : 0;
}
inline int __syncthreads_and(int value) {
  return __syncthreads_or(value == 0) == 0 ? 1 : 0;
}
inline void atomicMax(unsigned* at, unsigned value) {
  unsigned old = __atomic_load_n(at, __ATOMIC_RELAXED);
  while (old < value &&
         !__atomic_compare_exchange_n(at, &old, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}
using std::max, std::min;

template <class T>
T __shfl(T value, int, int = 32) {
  return value;
}
template <class T>
T __shfl_xor(T value, int, int = 32) {
  return value;
}
inline unsigned __lane_id() {
  return 0;
}
inline unsigned long long __ballot(int condition) {
  return condition != 0 ? 1 : 0;
}

namespace penstock::test {

// A block of a kernel, which runs until it is destroyed.
class RunningBlock {
 public:
  RunningBlock(dim3 size, unsigned index, unsigned blocks, std::function<void()> kernel)
      : block_(size) {
    for (unsigned z = 0; z < size.z; ++z)
      for (unsigned y = 0; y < size.y; ++y)
        for (unsigned x = 0; x < size.x; ++x)
          threads_.emplace_back([=, this] {
            block = &block_;
            threadIdx = {x, y, z};
            blockDim = block_.size;
            blockIdx = {index, 0, 0};
            gridDim = {blocks, 1, 1};
            kernel();
          });
  }
  ~RunningBlock() {
    for (std::thread& thread : threads_) thread.join();
  }
  RunningBlock(const RunningBlock&) = delete;
  RunningBlock& operator=(const RunningBlock&) = delete;

 private:
  HostBlock block_;
  std::vector<std::thread> threads_;
};

}  // namespace penstock::test
