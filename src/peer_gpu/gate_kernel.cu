// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernel_batch.cuh"
#include "peer_gpu/gate.hpp"
#include "peer_gpu/open_gate.cuh"

namespace penstock::peer_gpu {
using gpu::KernelBatch, gpu::SystemWord, gpu::launch_batch, gpu::let_successor_in;

namespace {

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
  const bool slot_is_new = gating.epochs_back != 0 && next <= ring_slots;
  if (slot_is_new)
    gate.store_open(1);
  else
    protocol::gate::close(gate, next - gating.epochs_back);
}

struct CloseGates {
  static constexpr unsigned most_threads = 32, resident = 0;
  template <int capacity>
  static __device__ void run(const KernelBatch<Gating, capacity>& gates) {
    let_successor_in();
    const auto which = static_cast<int>(threadIdx.x);
    if (which < gates.count) close(gates.item[which], gates.queue_failure->failed != 0);
  }
};

template <int capacity>
cudaError_t launch_as(const Launch& launch, std::span<const Gating> gates) {
  static_assert(capacity <= CloseGates::most_threads);
  KernelBatch<Gating, capacity> batch(launch, gates);
  return launch_batch<CloseGates>(launch, 1, CloseGates::most_threads, batch);
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
