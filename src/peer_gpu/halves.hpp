// SPDX-License-Identifier: Apache-2.0
// What the halves of this process's pairs between GPUs are made of, whatever they move.
#pragma once

#include <cstddef>
#include <memory>

#include "base/settings.hpp"
#include "gpu/gpus.hpp"
#include "gpu/packed_message.hpp"
#include "group/world.hpp"
#include "peer/peer.hpp"
#include "peer_gpu/device_plan.hpp"
#include "peer_gpu/exposed_memory.hpp"
#include "peer_gpu/gates.hpp"
#include "peer_gpu/gpu_shares.hpp"
#include "peer_gpu/pair_records.hpp"

namespace penstock::peer_gpu {

using gpu::Gpus, gpu::PackedMessage, gpu::WaitPlaces;

// Where our kernels find a message.
struct KernelBuffer {
  std::byte* buffer;
  std::size_t span_bytes;                 // from there on
  Rows rows;                              // how it lies there
  std::shared_ptr<PackedMessage> packed;  // null: the buffer is the program's
};

class Halves {
 public:
  Halves(const base::Settings& settings, group::World& world, peer::Peer& host,
         std::shared_ptr<Gpus> gpus);
  // Halves that were given up in the order of a stream end on the driver's threads.
  ~Halves();

  const base::Settings& settings() const noexcept { return settings_; }
  int own_rank() const noexcept { return world_.rank(); }
  group::World& world() noexcept { return world_; }
  peer::Peer& host() noexcept { return host_; }
  Gpus& gpus() noexcept { return *gpus_; }
  gpu::Devices& devices() noexcept { return gpus_->devices(); }
  GpuShares& shares() noexcept { return *shares_; }
  Gates& gates() noexcept { return gates_; }
  RemoteMemory& remote() noexcept { return remote_; }
  // For what waits on that device. Throws Error.
  std::shared_ptr<WaitPlaces> places_on(int device);

  // Our half: private words, and the words that the peer stores into.
  DevicePair prepare(int peer, KernelBuffer buffer, std::size_t words_bytes, EndRecord& end,
                     bool always_at_gates);
  // The other half's memory, as our device addresses it.
  std::byte* reach(int rank, DevicePair& pair, int device, const DevicePlace& place);
  // Where the other half's host looks for what ours has to say.
  EndWords* end_words(int rank, const EndRecord& theirs) {
    return reinterpret_cast<EndWords*>(host_.map(rank, theirs.host_words));
  }
  std::unique_ptr<transport::Plan> make_plan(DevicePair pair);

 private:
  const base::Settings& settings_;
  group::World& world_;
  peer::Peer& host_;
  const std::shared_ptr<Gpus> gpus_;
  const std::shared_ptr<GpuShares> shares_;
  Gates gates_;
  RemoteMemory remote_;
};

}  // namespace penstock::peer_gpu
