// SPDX-License-Identifier: Apache-2.0
// What kernels use of a vendor, and both say differently. Behind the vendor's own header.
#pragma once

// Twice in kernels that include penstock/device.cuh as well.
#ifndef PENSTOCK_GPU_DEVICE_CODE
#define PENSTOCK_GPU_DEVICE_CODE

#include <cstdint>

#if PENSTOCK_DEVICE_CODE

#if PENSTOCK_HIP

#define __grid_constant__

// What the kernels use of libcu++.
namespace cuda {

enum memory_order : int {
  memory_order_relaxed = __ATOMIC_RELAXED,
  memory_order_acquire = __ATOMIC_ACQUIRE,
  memory_order_release = __ATOMIC_RELEASE,
  memory_order_acq_rel = __ATOMIC_ACQ_REL,
  memory_order_seq_cst = __ATOMIC_SEQ_CST
};

enum thread_scope : int {
  thread_scope_system = __HIP_MEMORY_SCOPE_SYSTEM,
  thread_scope_device = __HIP_MEMORY_SCOPE_AGENT
};

template <class T, thread_scope scope>
class atomic_ref {
 public:
  __device__ explicit atomic_ref(T& object) : object_(&object) {}
  __device__ T load(memory_order order = memory_order_seq_cst) const {
    return __hip_atomic_load(object_, order, scope);
  }
  __device__ void store(T value, memory_order order = memory_order_seq_cst) const {
    __hip_atomic_store(object_, value, order, scope);
  }
  __device__ T exchange(T value, memory_order order = memory_order_seq_cst) const {
    return __hip_atomic_exchange(object_, value, order, scope);
  }
  __device__ T fetch_add(T value, memory_order order = memory_order_seq_cst) const {
    return __hip_atomic_fetch_add(object_, value, order, scope);
  }
  __device__ bool compare_exchange_strong(T& expected, T desired, memory_order order,
                                          memory_order otherwise) const {
    return __hip_atomic_compare_exchange_strong(object_, &expected, desired, order, otherwise,
                                                scope);
  }
  // The load of an exchange that fails releases nothing, so it only acquires what `order` acquires.
  __device__ bool compare_exchange_strong(T& expected, T desired, memory_order order) const {
    const memory_order otherwise = order == memory_order_acq_rel   ? memory_order_acquire
                                   : order == memory_order_release ? memory_order_relaxed
                                                                   : order;
    return compare_exchange_strong(expected, desired, order, otherwise);
  }
  __device__ T fetch_or(T value, memory_order order = memory_order_seq_cst) const {
    return __hip_atomic_fetch_or(object_, value, order, scope);
  }

 private:
  T* object_;
};

// Clang's fence without a scope is one of the whole system, which is enough for every scope.
// __builtin_amdgcn_fence makes the same instruction, but takes no order that is known only after
// inlining.
__device__ inline void atomic_thread_fence(memory_order order, thread_scope = thread_scope_system) {
  __atomic_thread_fence(order);
}

}  // namespace cuda

// Our warps have 32 lanes, and a wavefront of AMD's has 64: two warps, whose halves run in step. So
// a shuffle names its width, and a vote asks its own half. Lanes that have left the branch do not
// vote.
template <class T>
__device__ inline T __shfl_sync(unsigned, T value, int lane, int width = 32) {
  return __shfl(value, lane, width);
}

template <class T>
__device__ inline T __shfl_xor_sync(unsigned, T value, int mask) {
  return __shfl_xor(value, mask, 32);
}

__device__ inline int __any_sync(unsigned lanes, int condition) {
  const unsigned half = __lane_id() & 32u;
  return (static_cast<unsigned>(__ballot(condition) >> half) & lanes) != 0 ? 1 : 0;
}

__device__ inline int __all_sync(unsigned lanes, int condition) {
  return __any_sync(lanes, condition == 0) == 0 ? 1 : 0;
}

__device__ inline void __syncwarp(unsigned) {
  __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
  __builtin_amdgcn_wave_barrier();
}

// A pause, whose length is AMD's to choose: 64 cycles of the clock, times eight.
__device__ inline void __nanosleep(unsigned) {
  __builtin_amdgcn_s_sleep(8);
}

namespace penstock::vendor {

// Two words beside each other. The memory model of both vendors makes this two accesses in no
// order.
__device__ inline void store_pair(std::uint64_t* to, std::uint64_t first, std::uint64_t second) {
  __hip_atomic_store(to, first, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
  __hip_atomic_store(to + 1, second, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}

__device__ inline void load_pair(const std::uint64_t* from, std::uint64_t& first,
                                 std::uint64_t& second) {
  first = __hip_atomic_load(from, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
  second = __hip_atomic_load(from + 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}

__device__ inline uint4 load_argument(const uint4* from) {
  return *from;
}

// The first argument of the calling kernel, in place: Clang copies an argument whose address is
// taken to each thread.
template <class T>
__device__ inline const T& grid_constant(const T&) {
  return *(const T*)__builtin_amdgcn_kernarg_segment_ptr();  // a C cast: the address space changes
}

__device__ inline void await_predecessor() {}
__device__ inline void let_successor_in() {}

__device__ inline void trap() {
  __builtin_trap();
}

__device__ inline std::uint64_t nanoseconds() {
  return __builtin_amdgcn_s_memrealtime() * 10;  // a clock of 100 MHz on gfx9
}

}  // namespace penstock::vendor

#else

namespace penstock::vendor {

// Two words beside each other, in one instruction. The memory model makes it two 64-bit accesses in
// no order.
__device__ inline void store_pair(std::uint64_t* to, std::uint64_t first, std::uint64_t second) {
  asm volatile("st.relaxed.sys.global.v2.b64 [%0], {%1, %2};" ::"l"(to), "l"(first), "l"(second)
               : "memory");
}

__device__ inline void load_pair(const std::uint64_t* from, std::uint64_t& first,
                                 std::uint64_t& second) {
  asm volatile("ld.relaxed.sys.global.v2.b64 {%0, %1}, [%2];"
               : "=l"(first), "=l"(second)
               : "l"(from)
               : "memory");
}

// Of a kernel's arguments, by the way of all memory: that of constants serves the different
// addresses of a warp's threads one after the other.
__device__ inline uint4 load_argument(const uint4* from) {
  uint4 value;
  asm volatile("ld.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "l"(from));
  return value;
}

template <class T>
__device__ inline const T& grid_constant(const T& argument) {
  return argument;
}

// Dependent launch.
__device__ inline void await_predecessor() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

__device__ inline void let_successor_in() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

__device__ inline void trap() {
  __trap();
}

__device__ inline std::uint64_t nanoseconds() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

}  // namespace penstock::vendor

#endif
#endif
#endif
