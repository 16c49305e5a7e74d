// SPDX-License-Identifier: Apache-2.0
// Accesses of a kernel to memory that other processors look at.
#pragma once

#include <cuda/atomic>

#include "protocol/port.hpp"
#include "transport/cuda/words.hpp"

namespace penstock::transport::cuda {

using protocol::Order;

// Between the two processes of a pair.
using SystemWord = ::cuda::atomic_ref<Word64, ::cuda::thread_scope_system>;
// Between the blocks of one kernel.
using DeviceWord = ::cuda::atomic_ref<Word64, ::cuda::thread_scope_device>;

PENSTOCK_HD constexpr ::cuda::memory_order order_of(Order order) {
  switch (order) {
    case Order::relaxed:
      return ::cuda::memory_order_relaxed;
    case Order::acquire:
      return ::cuda::memory_order_acquire;
    case Order::release:
      return ::cuda::memory_order_release;
    case Order::acq_rel:
      return ::cuda::memory_order_acq_rel;
    case Order::seq_cst:
      break;
  }
  return ::cuda::memory_order_seq_cst;
}

// A cell in one instruction. The memory model makes it two 64-bit accesses in no order, which is why each half has its
// flag. Relaxed: the data travels inside the words.
__device__ inline void store_cell(Cell* cell, Cell value) {
  asm volatile("st.relaxed.sys.global.v2.b64 [%0], {%1, %2};" ::"l"(cell), "l"(value.low), "l"(value.high) : "memory");
}

__device__ inline Cell load_cell(const Cell* cell) {
  Cell value;
  asm volatile("ld.relaxed.sys.global.v2.b64 {%0, %1}, [%2];"
               : "=l"(value.low), "=l"(value.high)
               : "l"(cell)
               : "memory");
  return value;
}

// Every kernel of ours does this before it reads anything that other work may have written, on every path: it may have
// been launched while its predecessor still runs, and its successor waits for it alone.
__device__ inline void await_predecessor() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Once nothing in this kernel waits for a peer any more, the successor's blocks may take their places.
__device__ inline void let_successor_in() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

__device__ inline Word64 nanoseconds() {
  Word64 now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

}  // namespace penstock::transport::cuda
