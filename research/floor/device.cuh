// SPDX-License-Identifier: Apache-2.0
// Accesses to memory that the peer's device looks at or stores into, and dependent launch.
#pragma once

#include <gpu_runtime.hpp>

#include "kernels.hpp"

namespace penstock::bench::floor {

using SystemWord = ::cuda::atomic_ref<Word64, ::cuda::thread_scope_system>;

__device__ inline Word64 load_acquire(Word64& word) {
  return SystemWord(word).load(::cuda::memory_order_acquire);
}

__device__ inline void store_cell(Cell* cell, Word64 data, std::uint32_t flag) {
  const Word64 low = (data & 0xffffffffu) | Word64{flag} << 32;
  const Word64 high = data >> 32 | Word64{flag} << 32;
  asm volatile("st.relaxed.sys.global.v2.b64 [%0], {%1, %2};" ::"l"(cell), "l"(low), "l"(high)
               : "memory");
}

__device__ inline Cell load_cell(const Cell* cell) {
  Cell value;
  asm volatile("ld.relaxed.sys.global.v2.b64 {%0, %1}, [%2];"
               : "=l"(value.low), "=l"(value.high)
               : "l"(cell)
               : "memory");
  return value;
}

__device__ inline void let_successor_in() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// All that the kernels before this one have stored is there afterwards.
template <Handover handover>
__device__ inline void begin() {
  if constexpr (handover == Handover::at_once) let_successor_in();
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  if constexpr (handover == Handover::early) let_successor_in();
}

}  // namespace penstock::bench::floor
