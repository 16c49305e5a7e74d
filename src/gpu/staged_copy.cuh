// SPDX-License-Identifier: Apache-2.0
// Kernels whose messages travel through pinned memory, which threads of the host move on: blocks
// share a copy, wait for a word of the host's, and find out which of them is through last.
#pragma once

#include "gpu/block.cuh"
#include "gpu/copy.cuh"
#include "gpu/poll_timer.cuh"
#include "protocol/epoch.hpp"

namespace penstock::gpu {

// This block's part.
__device__ inline void copy_share(std::byte* to, const std::byte* from, std::uint64_t bytes,
                                  const BlockIndex& place) {
  const std::uint64_t share =
      ((bytes + place.blocks - 1) / place.blocks + device_line - 1) / device_line * device_line;
  const std::uint64_t begin = place.index * share;
  if (begin < bytes) copy_bytes(to + begin, from + begin, min(share, bytes - begin));
}

// Thread 0's: looks until the host has completed `number`.
__device__ inline Failure look_for_completion(const Reports& reports, std::uint32_t id,
                                              Word64& awaited, Word64& completed_word,
                                              Word64 number) {
  SystemWord completed(completed_word);
  PollTimer timer(reports, id, awaited, number);
  Word64 seen = completed.load(::cuda::memory_order_relaxed);
  for (unsigned looks = 1; seen < number; ++looks) {
    if (looks % PollTimer::polls_between == 0 && timer.late() == Request::end) break;
    seen = completed.load(::cuda::memory_order_relaxed);
  }
  timer.ended();
  ::cuda::atomic_thread_fence(::cuda::memory_order_acquire, ::cuda::thread_scope_system);
  if (seen == protocol::no_more) return Failure::given_up;
  return seen < number ? Failure::released : Failure::none;
}

// All threads': how a wait until the host has completed `number`, which thread 0 knows, has ended.
// `awaited`: see PollTimer.
__device__ inline Failure await_host(const Reports& reports, std::uint32_t id, Word64& awaited,
                                     Word64& completed, Word64 number) {
  Failure failure = Failure::none;
  if (threadIdx.x == 0) failure = look_for_completion(reports, id, awaited, completed, number);
  return static_cast<Failure>(agree(static_cast<Word64>(failure)));
}

// How a thread finds its block when all of it is there. `last` in one thread: thread 0 of the block
// that gets here last, when all that the blocks did before has been done, as the host sees it too.
// It knows whether any has failed.
struct Arrival {
  bool last = false;
  bool failed = false;
};

// `arrivals`: in the device's memory, 0 at first and again afterwards. `scope`: who sees what this
// block did when the last one has told it; that one sees it in any case.
__device__ inline Arrival arrive(Word64* arrivals, unsigned blocks, bool failed,
                                 ::cuda::thread_scope scope = ::cuda::thread_scope_system) {
  constexpr Word64 failure = Word64{1} << 32;
  __syncthreads();
  if (threadIdx.x != 0) return {};
  if (blocks == 1) return {true, failed};
  ::cuda::atomic_thread_fence(::cuda::memory_order_acq_rel, scope);
  DeviceWord count(*arrivals);
  const Word64 own = failed ? failure + 1 : 1;
  const Word64 all = count.fetch_add(own, ::cuda::memory_order_acq_rel) + own;
  if (all % failure != blocks) return {};
  count.store(0, ::cuda::memory_order_relaxed);  // for the next kernel
  ::cuda::atomic_thread_fence(::cuda::memory_order_acq_rel, scope);
  return {true, all >= failure};
}

}  // namespace penstock::gpu
