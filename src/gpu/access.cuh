// SPDX-License-Identifier: Apache-2.0
// Accesses of a kernel to memory that other processors look at.
#pragma once

#include <gpu_runtime.hpp>

#include "gpu/words.hpp"
#include "protocol/port.hpp"

namespace penstock::gpu {

using protocol::Order;

// Between the two processes of a pair.
using SystemWord = ::cuda::atomic_ref<Word64, ::cuda::thread_scope_system>;
// Between the blocks of one kernel.
using DeviceWord = ::cuda::atomic_ref<Word64, ::cuda::thread_scope_device>;

PENSTOCK_HD constexpr ::cuda::memory_order order_of(Order order) {
  return static_cast<::cuda::memory_order>(order);
}
static_assert(order_of(Order::relaxed) == ::cuda::memory_order_relaxed &&
              order_of(Order::acquire) == ::cuda::memory_order_acquire &&
              order_of(Order::release) == ::cuda::memory_order_release &&
              order_of(Order::acq_rel) == ::cuda::memory_order_acq_rel &&
              order_of(Order::seq_cst) == ::cuda::memory_order_seq_cst);

// A cell: each half has its flag, as the memory model makes it two accesses in no order. Relaxed:
// the data travels inside the words.
__device__ inline void store_cell(Cell* cell, Cell value) {
  vendor::store_pair(&cell->low, value.low, value.high);
}

__device__ inline Cell load_cell(const Cell* cell) {
  Cell value;
  vendor::load_pair(&cell->low, value.low, value.high);
  return value;
}

// Every kernel of ours does this before it reads anything that other work may have written, on
// every path: it may have been launched while its predecessor still runs, and its successor waits
// for it alone.
using vendor::await_predecessor;
// Once nothing in this block waits for a peer any more, the successor's blocks may take their
// places. The first thread that says so speaks for its block. So where threads wait apart, a
// barrier comes before: a thread that has nothing to wait for once let a large successor in, whose
// blocks filled the GPU and left no place for the start that the others waited for
// (FullDevice.G1_WhatDependsOnAWaitTakesNoPlaceBeforeItsEnd).
using vendor::let_successor_in;
using vendor::nanoseconds;

}  // namespace penstock::gpu
