// SPDX-License-Identifier: Apache-2.0
#include "peer/peer.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "device/gpu.hpp"
#include "peer/arena_file.hpp"
#include "peer/delivery_offer.hpp"
#include "peer/rally_offer.hpp"
#include "peer/window.hpp"
#include "transport/wire_record.hpp"

namespace penstock::peer {

using base::Error;
using base::ErrorKind;

Peer::Peer(const base::Settings& settings, group::World& world)
    : settings_(settings), world_(world) {
  constexpr std::uint64_t flags = std::uint64_t{1} << PENSTOCK_FLAG_BITS;
  if (settings.slots >= flags)
    throw Error(ErrorKind::setting,
                fmt::format("PENSTOCK_SLOTS is {}, but the line flags of this build allow 2 to {}",
                            settings.slots, flags - 1));
}

Peer::~Peer() = default;

transport::WireRecord Peer::address() {
  AddressRecord address;
  address.process = getpid();
  address.flag_bits = PENSTOCK_FLAG_BITS;
  remove_leftover_files();
  try {
    arena_ = Arena::create();
    arena_->when_short([this] { retired_.sweep_all(); });
    address.usable = 1;
    address.arena = arena_->identity();
  } catch (const Error& error) {
    why_no_arena_ = error.text();
  }
  memory_ = std::make_unique<Memory>(arena_.get());
  probe_.assign(1 + static_cast<std::size_t>(world_.size()), 0);
  probe_[0] = address.arena.nonce[0];
  address.probe = reinterpret_cast<std::uintptr_t>(probe_.data());
  return transport::to_wire(address);
}

void Peer::add_peers(std::span<const transport::WireRecord> addresses) {
  peers_.resize(addresses.size());
  if (!arena_) return;
  for (std::size_t rank = 0; rank < addresses.size(); ++rank) {
    LocalPeer& local_peer = peers_[rank];
    if (static_cast<int>(rank) == world_.rank()) continue;
    try {
      local_peer = get_to_know(transport::from_wire<AddressRecord>(addresses[rank]), world_.rank(),
                               settings_.cross_memory, texts_);
    } catch (const Error& error) {
      local_peer.why_not = texts_.share(std::string(error.text()));
    }
  }
}

void Peer::peers_added() {
  if (arena_) arena_->unlink();
}

transport::Verdict Peer::usable() const {
  if (!arena_) return {false, why_no_arena_};
  for (const LocalPeer& local_peer : peers_)
    if (local_peer.arena && !local_peer.cross_memory)
      return {true, "shared memory; " + *local_peer.why_not};
  return {true, "shared memory"};
}

transport::Counts Peer::counts() const {
  return {{"channels by words", channels_by_words_.load(std::memory_order_relaxed)}};
}

transport::Verdict Peer::can_serve(const transport::Message& message) const {
  if (message.memory != device::MemoryKind::host) return {false, "buffer is not in host memory"};
  if (!message.described()) return {false, transport::undescribed_text};
  return reaches(message.peer);
}

transport::Verdict Peer::can_serve_window(const transport::WindowMemory& ours, int peer) const {
  if (ours.memory != device::MemoryKind::host) return {false, "the window is not in host memory"};
  return reaches(peer);
}

std::unique_ptr<transport::WindowOffer> Peer::open_window(const transport::WindowMemory& ours,
                                                          int peer) {
  retired_.sweep();
  return std::make_unique<PeerWindow>(*this, ours, peer);
}

transport::Verdict Peer::can_serve_group(const transport::GroupMessage& ours) const {
  if (ours.memory != device::MemoryKind::host) return {false, "the buffers are not in host memory"};
  for (const int member : ours.members)
    if (transport::Verdict verdict = reaches(member); !verdict.yes)
      return {false, fmt::format("rank {} of MPI_COMM_WORLD: {}", member, verdict.why)};
  return ours.way == transport::GroupWay::slots ? can_rally(ours) : can_deliver(*this, ours);
}

// Through slots all is copied twice, and messages between buffers in shared memory once
// (docs/results/collectives.md).
std::size_t Peer::fastest_directly(const transport::GroupMessage& ours) const {
  const auto lies_shared = [&](const std::byte* address, std::size_t bytes) {
    return bytes == 0 || memory_->contains(address, bytes);
  };
  const bool shared =
      std::all_of(ours.blocks.begin(), ours.blocks.end(), [&](const transport::GroupBlock& block) {
        return lies_shared(block.from, block.bytes_to) && lies_shared(block.to, block.bytes_from);
      });
  return shared ? 4 << 10 : 16 << 10;
}

std::unique_ptr<transport::GroupOffer> Peer::open_group(const transport::GroupMessage& ours) {
  retired_.sweep();
  if (ours.way == transport::GroupWay::slots) return std::make_unique<RallyOffer>(*this, ours);
  return std::make_unique<DeliveryOffer>(*this, ours);
}

transport::Verdict Peer::can_share(const void* memory, std::size_t bytes) const {
  if (device::memory_kind(memory) != device::MemoryKind::host)
    return {false, "it is not in host memory"};
  if (!memory_->contains(memory, bytes))
    return {false,
            "it is not of PST_Alloc_mem, or that found no shared memory, which its log tells: "
            "allocate it with PST_Alloc_mem"};
  return base::accepted();
}

transport::SharedMemory Peer::share(const void* memory, std::size_t bytes) {
  ExposedMemory exposed = expose(memory, bytes);
  return {transport::to_wire(exposed.record), std::move(exposed.kept)};
}

// Other processes' memory stays mapped here until our end.
std::shared_ptr<std::byte> Peer::open_shared(int owner, std::span<const std::byte> record) {
  if (const transport::Verdict reached = reaches(owner); !reached.yes)
    throw Error(ErrorKind::unsupported,
                fmt::format("it does not reach the memory of rank {}: {}", owner, reached.why));
  return {std::shared_ptr<void>(), map(owner, transport::from_wire<MemoryRecord>(record).place)};
}

transport::Verdict Peer::reaches(int rank) const {
  if (!arena_) return {false, why_no_arena_};
  if (rank == world_.rank()) return {true, "the process itself"};
  if (rank < 0 || static_cast<std::size_t>(rank) >= peers_.size())
    return {false, "peer is not of this job"};
  const LocalPeer& local_peer = peers_[static_cast<std::size_t>(rank)];
  if (!local_peer.arena) return {false, *local_peer.why_not};
  return {true,
          local_peer.cross_memory ? "shared memory and cross-memory copy" : *local_peer.why_not};
}

ExposedMemory Peer::expose(const void* memory, std::size_t bytes) const {
  ExposedMemory exposed;
  exposed.kept = memory_->pin(memory);
  exposed.record.address = reinterpret_cast<std::uintptr_t>(memory);
  if (!memory_->contains(memory, bytes)) return exposed;
  if (const auto place = arena_->find(memory, bytes)) {
    exposed.record.in_arena = 1;
    exposed.record.place = *place;
  }
  return exposed;
}

std::byte* Peer::map(int rank, const ArenaAddress& place) const {
  if (rank == world_.rank()) return arena_->at(place);
  return peers_[static_cast<std::size_t>(rank)].arena->at(place);
}

std::optional<RemoteMemory> Peer::reach(int rank, const MemoryRecord& theirs) const {
  if (rank == world_.rank()) return RemoteMemory{theirs.address, 0};
  if (theirs.in_arena != 0)
    return RemoteMemory{reinterpret_cast<std::uintptr_t>(map(rank, theirs.place)), 0};
  const LocalPeer& peer = peers_[static_cast<std::size_t>(rank)];
  if (peer.cross_memory) return RemoteMemory{theirs.address, peer.process, &world_.dead(rank)};
  return std::nullopt;
}

bool Peer::reached_by(int rank, const MemoryRecord& ours) const noexcept {
  return rank == world_.rank() || ours.in_arena != 0 || copies_across(rank);
}

Pair Peer::pair_with(int rank) const {
  Pair pair;
  pair.peer = rank;
  pair.peer_dead = &world_.dead(rank);
  pair.timeout = settings_.timeout;
  pair.retired = &retired_;
  return pair;
}

}  // namespace penstock::peer
