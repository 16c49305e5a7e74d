// SPDX-License-Identifier: Apache-2.0
#include "peer_gpu/halves.hpp"

#include <utility>

namespace penstock::peer_gpu {

using gpu::PinnedPool, gpu::Report, gpu::export_memory;

Halves::Halves(const base::Settings& settings, group::World& world, peer::Peer& host,
               std::shared_ptr<Gpus> gpus)
    : settings_(settings),
      world_(world),
      host_(host),
      gpus_(std::move(gpus)),
      shares_(std::make_shared<GpuShares>(settings.cuda_waits)),
      gates_(settings, world.rank(), host, gpus_->devices()),
      remote_(world.rank(), gpus_->devices()) {
  gpus_->share_devices([this](int device) { return places_on(device); });
}

Halves::~Halves() {
  gpus_->share_devices({});
  gpus_->finish();
  shares_->leave();
}

std::shared_ptr<WaitPlaces> Halves::places_on(int device) {
  const gpu::Devices& devices = gpus_->devices();
  return shares_->places(devices.identity(device), devices.processors(device),
                         gates_.use_on(device) != GateUse::none);
}

DevicePair Halves::prepare(int peer, KernelBuffer buffer, std::size_t words_bytes, EndRecord& end,
                           bool always_at_gates) {
  const int device = end.buffer.device;
  DevicePair pair;
  pair.peer = peer;
  pair.peer_dead = &world_.dead(peer);
  pair.pair.buffer = buffer.buffer;
  pair.pair.rows = end.rows = buffer.rows;
  pair.packed = std::move(buffer.packed);
  pair.arena = gpus_->devices().arena(device);
  pair.private_words = pair.arena->allocate(sizeof(PrivateWords));
  pair.pair.words = reinterpret_cast<PartWords*>(pair.private_words.get());
  static_assert(sizeof(HostNotice) <= PinnedPool::piece && sizeof(Report) <= PinnedPool::piece);
  pair.notice = gpus_->pinned().take();
  pair.pair.notice = static_cast<HostNotice*>(pair.notice.get());
  pair.retired = &host_.retired();
  // All that the peer's kernels store into or copy from: it outlives the pair until the peer is
  // gone.
  struct Kept {
    std::shared_ptr<PackedMessage> packed;
    std::shared_ptr<std::byte> words;
    std::shared_ptr<Gate> gate;
  };
  const auto kept = std::make_shared<Kept>();
  kept->packed = pair.packed;
  kept->words = pair.arena->allocate(words_bytes);
  end.words = export_memory(kept->words.get());
  pair.always_at_gates = always_at_gates;
  if (gates_.use_on(device) != GateUse::none) {
    pair.wait_place = places_on(device)->take_for_pair();
    end.needs_gate = !pair.wait_place;
    if (always_at_gates || !pair.wait_place) kept->gate = gates_.take(end);
    pair.gate = kept->gate.get();
  }
  pair.holding = host_.hold(sizeof(EndWords), kept);
  pair.peer_end = reinterpret_cast<EndWords*>(pair.holding.block());
  end.host_words = pair.holding.place();
  return pair;
}

std::byte* Halves::reach(int rank, DevicePair& pair, int device, const DevicePlace& place) {
  pair.imports.push_back(remote_.reach(rank, pair.arena->device(), device, place));
  return pair.imports.back().get();
}

std::unique_ptr<transport::Plan> Halves::make_plan(DevicePair pair) {
  return std::make_unique<DevicePlan>(std::move(pair), gpus_->watchdog(), settings_.cuda_blocks);
}

}  // namespace penstock::peer_gpu
