// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "device/gpu/launch.hpp"
#include "peer_gpu/gate.hpp"
#include "peer_gpu/open_gate.cuh"

namespace penstock::peer_gpu {
namespace {

template <int capacity>
struct GateBatch {
  QueueFailure* queue_failure = nullptr;
  int count = 0;
  Gating gating[capacity];
};

// Before the stream stands at the gate. After a failure the gate stays open: what follows ends at
// once.
__device__ void close(const Gating& gating, bool failed) {
  const PartWords& words = *gating.words;
  GatePort gate(gating.passes->words);
  if (failed || words.given_up != 0) return gate.store_open(1);
  const Word64 next = (gating.starts ? last_started(words) : words.done) + 1;
  // A start that stands at the gate does so for the wait before it.
  SystemWord(gating.notice->gated)
      .store(gating.starts ? next - 1 : next, ::cuda::memory_order_relaxed);
  if (!gating.starts)
    protocol::gate::close(gate, next);
  else if (next > ring_slots)  // its slot has been used before
    protocol::gate::close(gate, next - ring_slots);
  else
    gate.store_open(1);
}

template <int capacity>
__global__ void run(const __grid_constant__ GateBatch<capacity> argument) {
  await_predecessor();
  let_successor_in();
  const GateBatch<capacity>& gates = vendor::grid_constant(argument);
  const auto which = static_cast<int>(threadIdx.x);
  if (which < gates.count) close(gates.gating[which], gates.queue_failure->failed != 0);
}

template <int capacity>
cudaError_t launch_as(const Launch& launch, std::span<const Gating> gates) {
  GateBatch<capacity> argument;
  argument.queue_failure = launch.queue_failure;
  argument.count = static_cast<int>(gates.size());
  std::copy(gates.begin(), gates.end(), argument.gating);
  static const device::gpu::Kernel kernel(reinterpret_cast<const void*>(&run<capacity>));
  constexpr unsigned threads = 32;
  static_assert(largest_batch <= threads);
  return kernel.launch({1, threads, launch.stream, launch.dependent}, &argument);
}

}  // namespace

cudaError_t close_gates(const Launch& launch, std::span<const Gating> gates) {
  return gates.size() <= 2 ? launch_as<2>(launch, gates) : launch_as<largest_batch>(launch, gates);
}

cudaError_t load_gate_kernel(const Launch& launch) {
  const cudaError_t code = launch_as<2>(launch, {});
  return code == cudaSuccess ? launch_as<largest_batch>(launch, {}) : code;
}

}  // namespace penstock::peer_gpu
