// SPDX-License-Identifier: Apache-2.0
// The two ends of a pair while it is matched. One comes first and opens: the sender by its offer,
// or a receiver that will not act again by an invitation. The other one chooses the way of the
// messages, and is complete by that; the ring, whose size follows from the message, lies behind its
// block. Each block lies in its own process's arena, and goes back only when the other end has
// closed.
#include "peer/handshake.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <utility>

#include "base/error.hpp"
#include "peer/path_choice.hpp"
#include "peer/peer.hpp"
#include "peer/plans.hpp"

namespace penstock::peer {

using base::Error;
using base::ErrorKind;
using transport::Direction;

namespace {

constexpr std::size_t block_bytes(Direction direction) noexcept {
  return direction == Direction::send ? sizeof(SenderBlock) : sizeof(ReceiverBlock);
}

// Where the end of that direction has its block.
void set_block(PortSetup& port, Direction direction, std::byte* block) noexcept {
  if (direction == Direction::send)
    port.sender = reinterpret_cast<SenderBlock*>(block);
  else
    port.receiver = reinterpret_cast<ReceiverBlock*>(block);
}

Cut cut_of(const ChoiceRecord& choice) noexcept {
  return {choice.bytes, choice.line_bytes, choice.slots, choice.parts};
}

std::size_t mean_run(const datatype::Segments* segments) noexcept {
  return segments == nullptr ? std::numeric_limits<std::size_t>::max() : segments->mean_run();
}

// A letter is to stay small, as who reads it may have no memory to spare: a longer list travels
// only where the message is large beside it, and would have to be staged.
constexpr std::size_t longest_list = 16384;  // segments: 640 KiB
constexpr std::size_t large_beside = 64;

bool list_stays(const transport::Message& message) {
  const auto segments = message.segments();
  if (!segments || segments->list().size() <= longest_list) return false;
  return segments->list().size_bytes() > message.bytes / large_beside;
}

template <class Record>
transport::WireRecord with_segments(const Record& record, const transport::Message& message) {
  transport::WireRecord wire = transport::to_wire(record);
  if (!list_stays(message)) transport::append_segments(wire, message.segments().get());
  return wire;
}

Direction opposite(Direction direction) noexcept {
  return direction == Direction::send ? Direction::receive : Direction::send;
}

}  // namespace

class Peer::OpenEnd final : public transport::Offer {
 public:
  OpenEnd(Peer& owner, const transport::Message& message) : owner_(owner), message_(message) {
    ExposedMemory ours = owner.expose(message.buffer, message.span_bytes());
    holding_ = owner.hold(block_bytes(message.direction), std::move(ours.kept));
    record_.eager_max = owner.settings_.eager_max;
    record_.slots = owner.settings_.slots;
    record_.checks_ready = owner.settings_.check;
    record_.across = owner.peers_[static_cast<std::size_t>(message.peer)].cross_memory;
    record_.list_stays = list_stays(message);
    record_.buffer = ours.record;
    record_.block = holding_.place();
  }

  transport::WireRecord record() const override { return with_segments(record_, message_); }

  std::unique_ptr<transport::Plan> connect(std::span<const std::byte> answer) override {
    const auto choice = transport::take_from_wire<ChoiceRecord>(answer);
    Pair pair = owner_.pair_with(message_.peer);
    pair.holding = std::move(holding_);
    set_block(pair.port, message_.direction, pair.holding.block());
    return owner_.make_or_close(message_.direction, pair,
                                [&] { return complete(choice, answer, pair); });
  }

 private:
  std::unique_ptr<transport::Plan> complete(const ChoiceRecord& choice,
                                            std::span<const std::byte> segments, Pair& pair) {
    const Direction other = opposite(message_.direction);
    std::byte* const block = owner_.map(message_.peer, choice.block);
    set_block(pair.port, other, block);
    pair.port.lines = block + block_bytes(other);
    pair.other_segments = transport::segments_from_wire(segments);
    return owner_.plan_as_chosen(message_, choice, choice.buffer, pair);
  }

  Peer& owner_;
  transport::Message message_;
  Holding holding_;
  OpenRecord record_;
};

// Its plan is made before the other end has connected, so that nothing is left to fail.
class Peer::ChoosingEnd final : public transport::Acceptance {
 public:
  // `message` is ours, but with the send's bytes and mode.
  ChoosingEnd(Peer& owner, const transport::Message& message, std::span<const std::byte> opened)
      : invited_(message.direction == Direction::send), message_(message) {
    const auto theirs = transport::take_from_wire<OpenRecord>(opened);
    auto their_segments = transport::segments_from_wire(opened);
    const bool across = owner.peers_[static_cast<std::size_t>(message.peer)].cross_memory;
    ExposedMemory ours = owner.expose(message.buffer, message.span_bytes());
    const bool self = message.peer == owner.world_.rank();
    const Copy by_us = copy_kind(self, theirs.buffer.in_arena != 0, across);
    const Copy by_them = copy_kind(self, ours.record.in_arena != 0, theirs.across != 0);
    const auto eager_max =
        invited_ ? owner.settings_.eager_max : static_cast<std::size_t>(theirs.eager_max);
    const PathChoice choice = decide(
        {.bytes = message.bytes,
         .eager_max = eager_max,
         .mode = message.mode,
         .pull = invited_ ? by_them : by_us,
         .push = invited_ ? by_us : by_them,
         .mean_run = std::min(mean_run(message.segments().get()), mean_run(their_segments.get())),
         .lists_stay = list_stays(message) || theirs.list_stays != 0});
    const std::uint32_t slots = invited_ ? owner.settings_.slots : theirs.slots;
    record_.bytes = message.bytes;
    record_.path = static_cast<std::uint32_t>(choice.path);
    record_.mode = static_cast<std::uint32_t>(message.mode);
    record_.line_bytes = choice.line_bytes;
    record_.slots = choice.path == Path::staged ? 2 : std::max<std::uint32_t>(slots, 2);
    record_.parts = choice.parts;
    record_.why_staged = static_cast<std::uint32_t>(choice.why);
    record_.checks_ready = theirs.checks_ready != 0 || owner.settings_.check;
    record_.buffer = ours.record;
    const std::size_t ring_bytes =
        choice.path == Path::rendezvous ? 0 : cut_of(record_).ring_bytes();

    Pair pair = owner.pair_with(message.peer);
    pair.other_segments = std::move(their_segments);
    pair.holding = owner.hold(block_bytes(message.direction) + ring_bytes, std::move(ours.kept));
    set_block(pair.port, message.direction, pair.holding.block());
    set_block(pair.port, opposite(message.direction), owner.map(message.peer, theirs.block));
    pair.port.lines = pair.holding.block() + block_bytes(message.direction);
    closed_ = invited_ ? &pair.port.sender->closed : &pair.port.receiver->closed;
    record_.block = pair.holding.place();
    plan_ = owner.plan_as_chosen(message, record_, theirs.buffer, pair);
  }
  ~ChoosingEnd() override {
    // The other end knows nothing of our block, so it will not say that it is gone from it.
    if (plan_) std::atomic_ref(*closed_).store(1, std::memory_order_release);
  }

  // Where lines carry the message, each end knows its own memory alone.
  transport::WireRecord record() const override {
    return record_.path == static_cast<std::uint32_t>(Path::rendezvous)
               ? with_segments(record_, message_)
               : transport::to_wire(record_);
  }
  bool needs_confirmation() const override { return invited_; }
  std::unique_ptr<transport::Plan> confirm() override { return std::move(plan_); }

 private:
  const bool invited_;
  const transport::Message message_;
  std::uint64_t* closed_ = nullptr;  // in our block
  ChoiceRecord record_;
  std::unique_ptr<transport::Plan> plan_;
};

std::unique_ptr<transport::Offer> Peer::offer(const transport::Message& send) {
  retired_.sweep();
  return std::make_unique<OpenEnd>(*this, send);
}

std::unique_ptr<transport::Acceptance> Peer::accept(const transport::Message& receive,
                                                    const transport::Message& send,
                                                    std::span<const std::byte> offer) {
  retired_.sweep();
  transport::Message ours = receive;
  ours.bytes = send.bytes;
  ours.mode = send.mode;
  return std::make_unique<ChoosingEnd>(*this, ours, offer);
}

std::unique_ptr<transport::Offer> Peer::invite(const transport::Message& receive) {
  return offer(receive);
}

std::unique_ptr<transport::Acceptance> Peer::accept_invitation(
    const transport::Message& send, const transport::Message&,
    std::span<const std::byte> invitation) {
  retired_.sweep();
  return std::make_unique<ChoosingEnd>(*this, send, invitation);
}

// What is left once both blocks have their places. `theirs` is the other end's buffer.
std::unique_ptr<transport::Plan> Peer::plan_as_chosen(const transport::Message& ours,
                                                      const ChoiceRecord& choice,
                                                      const MemoryRecord& theirs,
                                                      Pair& pair) const {
  const auto path = static_cast<Path>(choice.path);
  pair.segments = ours.segments();
  pair.port.buffer = static_cast<std::byte*>(ours.buffer);
  if (pair.segments) pair.port.segments = pair.segments->view();
  if (pair.other_segments) pair.port.other_segments = pair.other_segments->view();
  pair.port.cut = cut_of(choice);
  pair.port.checks_ready = choice.checks_ready != 0;
  if (path == Path::rendezvous) reach_buffer(pair.port, ours, theirs);
  pair.path = describe_path(path, static_cast<WhyStaged>(choice.why_staged), pair.port);
  return make_plan(ours.direction, path, static_cast<protocol::Mode>(choice.mode), std::move(pair));
}

// A receiver may do without: then its sender, who has decided, pushes.
void Peer::reach_buffer(PortSetup& port, const transport::Message& ours,
                        const MemoryRecord& theirs) const {
  const auto found = reach(ours.peer, theirs);
  if (found)
    port.other = *found;
  else if (ours.direction == Direction::send)
    throw Error(ErrorKind::internal, "the receive buffer cannot be reached after all");
}

// The other half may be in use already: where this one cannot be made, it hears so from its block,
// if that is in reach; and ours stays until it has closed.
std::unique_ptr<transport::Plan> Peer::make_or_close(
    Direction direction, Pair& pair,
    const std::function<std::unique_ptr<transport::Plan>()>& make) {
  const bool sends = direction == Direction::send;
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
