// SPDX-License-Identifier: Apache-2.0
#include "peer_gpu/gates.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/log.hpp"
#include "device/gpu/runtime.hpp"
#include "device/gpu/word_operations.hpp"

namespace penstock::peer_gpu {

using base::Error;
using base::ErrorKind;

GatePages& Gates::pages() {
  const std::lock_guard lock(mutex_);
  if (!pages_) pages_ = std::make_shared<GatePages>(host_.arena());
  return *pages_;
}

GateUse Gates::use_on(int device) {
  if (settings_.cuda_wait == base::CudaWait::kernel) return GateUse::none;
  const bool wanted = settings_.cuda_wait == base::CudaWait::value;
  const device::gpu::DeviceGuard guard(device);
  if (host_.usable().yes && device::gpu::has_word_operations() &&
      pages().work_on(device, devices_.arena(device)->stream()))
    return wanted ? GateUse::wanted : GateUse::possible;
  if (wanted)
    throw Error(ErrorKind::transport,
                "PENSTOCK_CUDA_WAIT=value: streams cannot wait for a value here");
  return GateUse::none;
}

// A kernel of ours that waits keeps its time slice, and the peer's kernel, which would end the
// wait, has none meanwhile.
bool Gates::take_turns(int rank, const MemoryRecord& ours, const MemoryRecord& theirs) const {
  return rank != rank_ && ours.device_identity == theirs.device_identity &&
         !devices_.runs_beside_others(ours.device);
}

// Within one process all streams run beside each other.
bool Gates::may_be_always(int rank, int device) const {
  return rank != rank_ &&
         (settings_.cuda_wait == base::CudaWait::value || !devices_.runs_beside_others(device));
}

bool Gates::always(int rank, const OfferRecord& offer, const MemoryRecord& ours) {
  if (rank == rank_ || offer.end.has_gate == 0) return false;
  return always(rank, use_on(ours.device), ours, offer.gates, offer.end.buffer);
}

bool Gates::always(int rank, GateUse our_use, const MemoryRecord& ours, GateUse their_use,
                   const MemoryRecord& theirs) const {
  if (rank == rank_ || our_use == GateUse::none) return false;
  const bool wanted = our_use == GateUse::wanted || their_use == GateUse::wanted;
  return wanted || take_turns(rank, ours, theirs);
}

std::shared_ptr<Gate> Gates::take(EndRecord& end) {
  std::shared_ptr<Gate> gate = pages().take();
  end.has_gate = 1;
  end.gate = pages().place(*gate);
  return gate;
}

void Gates::join(int rank, DevicePair& pair, const EndRecord& ours, const EndRecord& theirs) {
  if (take_turns(rank, ours.buffer, theirs.buffer)) warn_of_turns(rank, pair.always_at_gates);
  const auto stands = [&](const EndRecord& end) {
    return end.has_gate != 0 && (end.needs_gate != 0 || pair.always_at_gates);
  };
  if (stands(ours))
    pages().show_to_devices(*pair.gate);
  else
    pair.gate = nullptr;
  if (!stands(theirs)) return;
  pair.peer_gate = reinterpret_cast<Gate*>(host_.map(rank, theirs.gate));
  pages().show_to_devices(*pair.peer_gate);
}

void Gates::warn_of_turns(int rank, bool gated) {
  if (warned_.exchange(true)) return;
  base::log::warn(
      fmt::format("this rank and rank {} share a GPU without CUDA's multi-process "
                  "service, so their kernels take turns by time slices and each message "
                  "waits for {}: start nvidia-cuda-mps-control -d before the job",
                  rank, gated ? "a change of turns" : "several"));
}

}  // namespace penstock::peer_gpu
