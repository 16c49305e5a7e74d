// SPDX-License-Identifier: Apache-2.0
// Pairs whose receiver comes first and does not act again: it leaves what its sender needs to
// complete both halves. Its block lies in its own arena, as always; the ring, whose size follows
// from the message, in the sender's behind the sender's block, which goes back only when the
// receiver has closed.
#include <atomic>
#include <functional>
#include <utility>

#include "base/error.hpp"
#include "peer/path_choice.hpp"
#include "peer/peer.hpp"
#include "peer/plans.hpp"

namespace penstock::peer {

using base::Error;
using base::ErrorKind;

// The receiver's half until its sender has come.
class Peer::PeerInvitation final : public transport::Offer {
 public:
  PeerInvitation(Peer& owner, const transport::Message& receive)
      : owner_(owner),
        receive_(receive),
        holding_(owner.hold(sizeof(ReceiverBlock), owner.memory_->pin(receive.buffer))) {
    record_.checks_ready = owner.settings_.check;
    record_.reads_across = owner.peers_[static_cast<std::size_t>(receive.peer)].cross_memory;
    record_.buffer = owner.place_of(receive, receive.bytes);
    record_.block = holding_.place();
  }

  transport::WireRecord record() const override { return transport::to_wire(record_); }

  std::unique_ptr<transport::Plan> connect(std::span<const std::byte> answer) override {
    const auto theirs = transport::from_wire<InvitedRecord>(answer);
    Pair pair = owner_.pair_with(receive_.peer);
    pair.holding = std::move(holding_);
    pair.port.receiver = reinterpret_cast<ReceiverBlock*>(pair.holding.block());
    return owner_.make_or_close(transport::Direction::receive, pair,
                                [&] { return complete(theirs, pair); });
  }

 private:
  std::unique_ptr<transport::Plan> complete(const InvitedRecord& theirs, Pair& pair) {
    std::byte* block = owner_.map(receive_.peer, theirs.block);
    const auto path = static_cast<Path>(theirs.path);
    pair.port.sender = reinterpret_cast<SenderBlock*>(block);
    pair.port.lines = block + sizeof(SenderBlock);
    pair.port.buffer = static_cast<std::byte*>(receive_.buffer);
    pair.port.geometry = {theirs.bytes, theirs.line_bytes, theirs.slots, theirs.parts};
    pair.port.checks_ready = theirs.checks_ready != 0;
    if (path == Path::rendezvous)
      if (const auto source = owner_.reach(receive_.peer, theirs.buffer, record_.reads_across != 0))
        pair.port.other = *source;
    pair.path = describe_path(path, pair.port);
    return make_plan(transport::Direction::receive, path, static_cast<protocol::Mode>(theirs.mode),
                     std::move(pair));
  }

  Peer& owner_;
  transport::Message receive_;
  Holding holding_;
  InviteRecord record_;
};

// The sender's half, which is complete.
class Peer::InvitationAcceptance final : public transport::Acceptance {
 public:
  InvitationAcceptance(Peer& owner, const transport::Message& send, const InviteRecord& theirs) {
    const bool writes_across = owner.peers_[static_cast<std::size_t>(send.peer)].cross_memory;
    const BufferPlace ours = owner.place_of(send, send.bytes);
    const PathChoice choice =
        decide({.bytes = send.bytes,
                .eager_max = owner.settings_.eager_max,
                .mode = send.mode,
                .pull = copy_kind(false, ours.in_arena != 0, theirs.reads_across != 0),
                .push = copy_kind(false, theirs.buffer.in_arena != 0, writes_across)});
    const Path path = choice.path;
    const Geometry geometry{
        send.bytes, choice.line_bytes,
        path == Path::staged ? 2 : std::max<std::uint32_t>(owner.settings_.slots, 2), choice.parts};
    const std::size_t ring_bytes = path == Path::rendezvous ? 0 : geometry.ring_bytes();

    Pair pair = owner.pair_with(send.peer);
    if (path == Path::rendezvous) {
      const auto target = owner.reach(send.peer, theirs.buffer, writes_across);
      if (!target)
        throw Error(ErrorKind::internal, "the receive buffer cannot be reached after all");
      pair.port.other = *target;
    }
    pair.holding = owner.hold(sizeof(SenderBlock) + ring_bytes, owner.memory_->pin(send.buffer));
    pair.port.sender = block_ = reinterpret_cast<SenderBlock*>(pair.holding.block());
    pair.port.receiver = reinterpret_cast<ReceiverBlock*>(owner.map(send.peer, theirs.block));
    pair.port.lines = pair.holding.block() + sizeof(SenderBlock);
    pair.port.buffer = static_cast<std::byte*>(send.buffer);
    pair.port.geometry = geometry;
    pair.port.checks_ready = theirs.checks_ready != 0 || owner.settings_.check;
    pair.path = describe_path(path, pair.port);

    record_.bytes = send.bytes;
    record_.path = static_cast<std::uint32_t>(path);
    record_.mode = static_cast<std::uint32_t>(send.mode);
    record_.line_bytes = geometry.line_bytes;
    record_.slots = geometry.slots;
    record_.parts = geometry.parts;
    record_.checks_ready = pair.port.checks_ready;
    record_.buffer = ours;
    record_.block = pair.holding.place();
    plan_ = make_plan(transport::Direction::send, path, send.mode, std::move(pair));
  }
  ~InvitationAcceptance() override {
    // Without a letter the receiver knows nothing of our block.
    if (plan_) std::atomic_ref(block_->closed).store(1, std::memory_order_release);
  }

  transport::WireRecord record() const override { return transport::to_wire(record_); }
  std::unique_ptr<transport::Plan> confirm() override { return std::move(plan_); }

 private:
  SenderBlock* block_ = nullptr;
  InvitedRecord record_;
  std::unique_ptr<transport::Plan> plan_;
};

std::unique_ptr<transport::Offer> Peer::invite(const transport::Message& receive) {
  retired_.sweep();
  return std::make_unique<PeerInvitation>(*this, receive);
}

std::unique_ptr<transport::Acceptance> Peer::accept_invitation(
    const transport::Message& send, const transport::Message&,
    std::span<const std::byte> invitation) {
  retired_.sweep();
  return std::make_unique<InvitationAcceptance>(*this, send,
                                                transport::from_wire<InviteRecord>(invitation));
}

// The other half may be in use already: where this one cannot be made, it hears so from its block,
// if that is in reach; and ours stays until it has closed.
std::unique_ptr<transport::Plan> Peer::make_or_close(
    transport::Direction direction, Pair& pair,
    const std::function<std::unique_ptr<transport::Plan>()>& make) {
  const bool sends = direction == transport::Direction::send;
  const std::uint64_t& ours = sends ? pair.port.sender->closed : pair.port.receiver->closed;
  try {
    return make();
  } catch (...) {
    std::uint64_t* theirs = nullptr;
    if (sends && pair.port.receiver != nullptr) theirs = &pair.port.receiver->closed;
    if (!sends && pair.port.sender != nullptr) theirs = &pair.port.sender->closed;
    if (theirs != nullptr) std::atomic_ref(*theirs).store(1, std::memory_order_release);
    retired_.add(std::move(pair.holding), &ours, pair.peer_dead);
    throw;
  }
}

}  // namespace penstock::peer
