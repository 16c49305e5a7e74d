// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "device/cuda/launch.hpp"
#include "protocol/gate.hpp"
#include "transport/cuda/access.cuh"
#include "transport/peer/cuda/gate.hpp"

namespace penstock::transport::peer::cuda {
namespace {

template <int capacity>
struct Gates {
  Sticky* sticky = nullptr;
  int count = 0;
  Gating gating[capacity];
};

class GatePort {
 public:
  __device__ explicit GatePort(Gate& gate) : gate_(gate) {}

  __device__ Word64 load_posted() const { return SystemWord(gate_.posted).load(::cuda::memory_order_relaxed); }
  __device__ void store_posted(Word64 epoch) const {
    SystemWord(gate_.posted).store(epoch, ::cuda::memory_order_relaxed);
  }
  __device__ void store_open(std::uint32_t open) const {
    ::cuda::atomic_ref<std::uint32_t, ::cuda::thread_scope_system>(gate_.open)
        .store(open, ::cuda::memory_order_relaxed);
  }
  __device__ static void fence() {
    ::cuda::atomic_thread_fence(::cuda::memory_order_seq_cst, ::cuda::thread_scope_system);
  }

 private:
  Gate& gate_;
};

// Behind the call's kernel, which has ended. After a failure the gate stays open: what follows ends at once.
__device__ void tend(const Gating& gating, bool failed) {
  const Half& half = *gating.half;
  const Word64 last = gating.starts ? last_started(half) : half.done;
  // A start posts the message or the receive, a receiver's wait the room that it has told the sender of: as FIN, that
  // of the epoch before.
  if (gating.posts != nullptr) {
    GatePort theirs(*gating.posts);
    if (gating.starts)
      protocol::gate::post(theirs, last);
    else if (last > 1)
      protocol::gate::post(theirs, last - 1);
  }
  if (gating.passes == nullptr || failed || half.given_up != 0) return;
  GatePort ours(*gating.passes);
  // A start that stands at the gate does so for the wait before it.
  SystemWord(gating.fate->gated).store(gating.starts ? last : last + 1, ::cuda::memory_order_relaxed);
  if (!gating.starts)
    protocol::gate::close(ours, last + 1);
  else if (last + 1 > ring_slots)  // its slot has been used before
    protocol::gate::close(ours, last + 1 - ring_slots);
}

template <int capacity>
__global__ void run(const __grid_constant__ Gates<capacity> argument) {
  await_predecessor();
  let_successor_in();
  const Gates<capacity>& gates = gpu::grid_constant(argument);
  const auto which = static_cast<int>(threadIdx.x);
  if (which < gates.count) tend(gates.gating[which], gates.sticky->failed != 0);
}

template <int capacity>
cudaError_t launch_as(const Launch& launch, std::span<const Gating> gates) {
  Gates<capacity> argument;
  argument.sticky = launch.sticky;
  argument.count = static_cast<int>(gates.size());
  std::copy(gates.begin(), gates.end(), argument.gating);
  static const device::cuda::Kernel kernel(reinterpret_cast<const void*>(&run<capacity>));
  constexpr unsigned threads = 32;
  static_assert(largest_batch <= threads);
  return kernel.launch({1, threads, launch.stream, launch.dependent}, &argument);
}

}  // namespace

cudaError_t tend_gates(const Launch& launch, std::span<const Gating> gates) {
  return gates.size() <= 2 ? launch_as<2>(launch, gates) : launch_as<largest_batch>(launch, gates);
}

cudaError_t load_gate_kernel(const Launch& launch) {
  const cudaError_t code = launch_as<2>(launch, {});
  return code == cudaSuccess ? launch_as<largest_batch>(launch, {}) : code;
}

}  // namespace penstock::transport::peer::cuda
