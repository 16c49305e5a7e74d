// SPDX-License-Identifier: Apache-2.0
// Large messages: each block copies a share into the peer's buffer and says so in a word of its
// own.
#include "device.cuh"

namespace penstock::bench::floor {
namespace {

constexpr int ahead = 8;  // loads that each thread has under way

template <Handover handover>
__global__ void __launch_bounds__(most_threads) send_kernel(const __grid_constant__ Push push) {
  begin<handover>();
  if constexpr (handover == Handover::late) let_successor_in();
  const Word64 offset = blockIdx.x * push.share;
  const Word64 bytes = offset < push.bytes ? min(push.share, push.bytes - offset) : 0;
  auto* const to = reinterpret_cast<uint4*>(push.to + offset);
  const auto* const from = reinterpret_cast<const uint4*>(push.from + offset);
  const Word64 units = bytes / sizeof(uint4);
  Word64 at = threadIdx.x;
  for (; at + (ahead - 1) * Word64{blockDim.x} < units; at += ahead * Word64{blockDim.x}) {
    uint4 unit[ahead];
#pragma unroll
    for (int i = 0; i < ahead; ++i) unit[i] = from[at + i * Word64{blockDim.x}];
#pragma unroll
    for (int i = 0; i < ahead; ++i) to[at + i * Word64{blockDim.x}] = unit[i];
  }
  for (; at < units; at += blockDim.x) to[at] = from[at];
  __syncthreads();
  if (threadIdx.x == 0)
    SystemWord(push.flags[blockIdx.x]).store(push.epoch, ::cuda::memory_order_release);
}

// One block: a thread for each block of the sender.
template <Handover handover>
__global__ void __launch_bounds__(most_blocks) wait_kernel(const __grid_constant__ Push push) {
  begin<handover>();
  while (load_acquire(push.flags[threadIdx.x]) != push.epoch) {
  }
  if constexpr (handover == Handover::late) let_successor_in();
}

template <Handover handover>
const void* kernel_of(Role role) {
  return role == Role::send ? reinterpret_cast<const void*>(&send_kernel<handover>)
                            : reinterpret_cast<const void*>(&wait_kernel<handover>);
}

}  // namespace

const void* push_kernel(Role role, Handover handover) {
  switch (handover) {
    case Handover::at_once:
      return kernel_of<Handover::at_once>(role);
    case Handover::early:
      return kernel_of<Handover::early>(role);
    case Handover::late:
      return kernel_of<Handover::late>(role);
    case Handover::never:
      break;
  }
  return kernel_of<Handover::never>(role);
}

}  // namespace penstock::bench::floor
