// SPDX-License-Identifier: Apache-2.0
#include "peer/peer.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "peer/arena_file.hpp"
#include "peer/path_choice.hpp"
#include "peer/plans.hpp"

namespace penstock::peer {

using base::Error;
using base::ErrorKind;

// The sender's half until the answer has come.
class Peer::PeerOffer final : public transport::Offer {
 public:
  PeerOffer(Peer& owner, const transport::Message& send)
      : owner_(owner),
        send_(send),
        holding_(owner.hold(sizeof(SenderBlock), owner.memory_->pin(send.buffer))) {
    record_.eager_max = owner.settings_.eager_max;
    record_.slots = owner.settings_.slots;
    record_.checks_ready = owner.settings_.check;
    record_.writes_across = owner.peers_[static_cast<std::size_t>(send.peer)].cross_memory;
    record_.buffer = owner.place_of(send, send.bytes);
    record_.block = holding_.place();
  }

  transport::WireRecord record() const override { return transport::to_wire(record_); }

  std::unique_ptr<transport::Plan> connect(std::span<const std::byte> answer) override {
    const auto theirs = transport::from_wire<PeerAnswerRecord>(answer);
    const auto path = static_cast<Path>(theirs.path);
    Pair pair = owner_.pair_with(send_.peer);
    pair.holding = std::move(holding_);
    pair.port.sender = reinterpret_cast<SenderBlock*>(pair.holding.block());
    return owner_.make_or_close(transport::Direction::send, pair,
                                [&] { return complete(theirs, path, pair); });
  }

 private:
  std::unique_ptr<transport::Plan> complete(const PeerAnswerRecord& theirs, Path path, Pair& pair) {
    std::byte* block = owner_.map(send_.peer, theirs.block);
    pair.port.receiver = reinterpret_cast<ReceiverBlock*>(block);
    pair.port.lines = block + sizeof(ReceiverBlock);
    pair.port.buffer = static_cast<std::byte*>(send_.buffer);
    pair.port.geometry = {send_.bytes, theirs.line_bytes, theirs.slots, theirs.parts};
    pair.port.checks_ready = theirs.checks_ready != 0;
    if (path == Path::rendezvous) {
      const auto target = owner_.reach(send_.peer, theirs.buffer, record_.writes_across != 0);
      if (!target)
        throw Error(ErrorKind::internal, "the receive buffer cannot be reached after all");
      pair.port.other = *target;
    }
    pair.path = describe_path(path, pair.port);
    return make_plan(transport::Direction::send, path, send_.mode, std::move(pair));
  }

  Peer& owner_;
  transport::Message send_;
  Holding holding_;
  PeerOfferRecord record_;
};

// The receiver's half until the sender has confirmed. Its plan is made by then, so that nothing is
// left to fail.
class Peer::PeerAcceptance final : public transport::Acceptance {
 public:
  PeerAcceptance(Peer& owner, const transport::Message& receive, const transport::Message& send,
                 const PeerOfferRecord& offer) {
    const auto& local_peer = owner.peers_[static_cast<std::size_t>(send.peer)];
    const auto pull = owner.reach(send.peer, offer.buffer, local_peer.cross_memory);
    const BufferPlace ours = owner.place_of(receive, send.bytes);
    const bool self = send.peer == owner.world_.rank();
    const PathChoice choice =
        decide({.bytes = send.bytes,
                .eager_max = static_cast<std::size_t>(offer.eager_max),
                .mode = send.mode,
                .pull = copy_kind(self, offer.buffer.in_arena != 0, local_peer.cross_memory),
                .push = copy_kind(self, ours.in_arena != 0, offer.writes_across != 0)});
    const Path path = choice.path;
    const Geometry geometry{send.bytes, choice.line_bytes,
                            path == Path::staged ? 2 : std::max<std::uint32_t>(offer.slots, 2),
                            choice.parts};
    const std::size_t ring_bytes = path == Path::rendezvous ? 0 : geometry.ring_bytes();

    Pair pair = owner.pair_with(send.peer);
    pair.holding =
        owner.hold(sizeof(ReceiverBlock) + ring_bytes, owner.memory_->pin(receive.buffer));
    std::byte* block = pair.holding.block();
    pair.port.sender = reinterpret_cast<SenderBlock*>(owner.map(send.peer, offer.block));
    pair.port.receiver = block_ = reinterpret_cast<ReceiverBlock*>(block);
    pair.port.lines = block + sizeof(ReceiverBlock);
    pair.port.buffer = static_cast<std::byte*>(receive.buffer);
    pair.port.geometry = geometry;
    pair.port.checks_ready = offer.checks_ready != 0 || owner.settings_.check;
    if (path == Path::rendezvous && pull) pair.port.other = *pull;
    pair.path = describe_path(path, pair.port);

    record_.path = static_cast<std::uint32_t>(path);
    record_.line_bytes = geometry.line_bytes;
    record_.slots = geometry.slots;
    record_.parts = geometry.parts;
    record_.checks_ready = pair.port.checks_ready;
    record_.buffer = ours;
    record_.block = pair.holding.place();
    plan_ = make_plan(transport::Direction::receive, path, send.mode, std::move(pair));
  }
  ~PeerAcceptance() override {
    if (!plan_) return;
    // Never confirmed: no sender will say that it is gone from our block.
    std::atomic_ref(block_->closed).store(1, std::memory_order_release);
  }

  transport::WireRecord record() const override { return transport::to_wire(record_); }
  bool needs_confirmation() const override { return false; }
  std::unique_ptr<transport::Plan> confirm() override { return std::move(plan_); }

 private:
  ReceiverBlock* block_ = nullptr;
  PeerAnswerRecord record_;
  std::unique_ptr<transport::Plan> plan_;
};

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
  PeerAddressRecord address;
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
      local_peer = get_to_know(transport::from_wire<PeerAddressRecord>(addresses[rank]),
                               world_.rank(), settings_.cross_memory);
    } catch (const Error& error) {
      local_peer.why_not = error.text();
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
      return {true, "shared memory; " + local_peer.why_no_cross_memory};
  return {true, "shared memory"};
}

transport::Verdict Peer::can_serve(const transport::Message& message) const {
  if (message.memory != device::MemoryKind::host) return {false, "buffer is not in host memory"};
  if (message.layout && !message.layout->contiguous())
    return {false, "derived datatype is not contiguous"};
  return reaches(message.peer);
}

transport::Verdict Peer::reaches(int rank) const {
  if (!arena_) return {false, why_no_arena_};
  if (rank == world_.rank()) return {true, "the process itself"};
  if (rank < 0 || static_cast<std::size_t>(rank) >= peers_.size())
    return {false, "peer is not of this job"};
  const LocalPeer& local_peer = peers_[static_cast<std::size_t>(rank)];
  if (!local_peer.arena) return {false, local_peer.why_not};
  return {true, local_peer.cross_memory ? "shared memory and cross-memory copy"
                                        : local_peer.why_no_cross_memory};
}

std::unique_ptr<transport::Offer> Peer::offer(const transport::Message& send) {
  retired_.sweep();
  return std::make_unique<PeerOffer>(*this, send);
}

std::unique_ptr<transport::Acceptance> Peer::accept(const transport::Message& receive,
                                                    const transport::Message& send,
                                                    std::span<const std::byte> offer) {
  retired_.sweep();
  transport::Message sender = send;
  sender.peer = receive.peer;
  return std::make_unique<PeerAcceptance>(*this, receive, sender,
                                          transport::from_wire<PeerOfferRecord>(offer));
}

BufferPlace Peer::place_of(const transport::Message& message, std::size_t bytes) const {
  BufferPlace where;
  where.address = reinterpret_cast<std::uintptr_t>(message.buffer);
  if (!memory_->contains(message.buffer, bytes)) return where;
  if (const auto place = arena_->find(message.buffer, bytes)) {
    where.in_arena = 1;
    where.place = *place;
  }
  return where;
}

std::byte* Peer::map(int rank, const ArenaAddress& place) const {
  if (rank == world_.rank()) return arena_->at(place);
  return peers_[static_cast<std::size_t>(rank)].arena->at(place);
}

std::optional<Reach> Peer::reach(int rank, const BufferPlace& buffer, bool across) const {
  if (rank == world_.rank()) return Reach{buffer.address, 0};
  if (buffer.in_arena != 0)
    return Reach{reinterpret_cast<std::uintptr_t>(map(rank, buffer.place)), 0};
  if (across)
    return Reach{buffer.address, peers_[static_cast<std::size_t>(rank)].process,
                 &world_.dead(rank)};
  return std::nullopt;
}

Pair Peer::pair_with(int rank) const {
  Pair pair;
  pair.peer = rank;
  pair.peer_dead = &world_.dead(rank);
  pair.retired = &retired_;
  return pair;
}

}  // namespace penstock::peer
