// SPDX-License-Identifier: Apache-2.0
#include "peer/window.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "peer/end_plan.hpp"
#include "peer/window_ends.hpp"

namespace penstock::peer {

using transport::OperationLists;
using transport::WindowEnds;
using transport::WindowReach;

namespace {

// In memory that the origin stores into itself, a slot gains only where the target has not posted:
// the direct way is as fast at 8 bytes and faster above (docs/performance.md).
constexpr std::size_t mapped_eager_max = 128;

Cut cut_of(std::size_t slot_bytes) noexcept {
  constexpr std::size_t payload = window_line - sizeof(std::uint64_t);
  return {slot_bytes / window_line * payload, window_line, window_slots, 1};
}

// Lines for that many words of operations.
std::size_t slot_bytes_for(std::size_t bytes) noexcept {
  return lines_for((bytes + sizeof(StreamWord) - 1) / sizeof(StreamWord)) * window_line;
}

// All of a window that is reached by slots alone, in some hundreds of pieces.
constexpr std::size_t room_for_pieces = 16384;

// What an epoch's operations may take of a slot.
std::size_t eager_room(std::size_t slot_bytes) noexcept {
  return cut_of(slot_bytes).message_bytes - head_words * sizeof(StreamWord);
}

}  // namespace

std::string missing_from_target(const SenderBlock& block, protocol::Epoch epoch) {
  const auto value = [](const std::uint64_t& word) {
    return std::atomic_ref(const_cast<std::uint64_t&>(word)).load(std::memory_order_relaxed);
  };
  if (value(block.cts) < epoch)
    return fmt::format("the target's post (it has posted {} epochs)", value(block.cts));
  return fmt::format("the target's wait of epoch {} (it has ended {})", epoch - window_slots,
                     value(block.fin));
}

// Memory that the peer cannot get at is reached through slots alone, which then hold all of it.
PeerWindow::PeerWindow(Peer& owner, const transport::WindowMemory& ours, int peer)
    : owner_(owner), ours_(ours), peer_(peer) {
  ExposedMemory exposed = owner.expose(ours.base, ours.bytes);
  const bool reached = owner.reached_by(peer, exposed.record);
  const std::size_t least = owner.window_eager_max();
  record_.bytes = ours.bytes;
  record_.slot_bytes = slot_bytes_for(
      reached ? least : std::max(least, ours.bytes + ours.bytes / 8 + room_for_pieces));
  record_.memory = exposed.record;
  origin_ = owner.hold(sizeof(SenderBlock), nullptr);
  target_ = owner.hold(sizeof(ReceiverBlock) + window_slots * record_.slot_bytes,
                       std::move(exposed.kept));
  record_.origin_block = origin_.place();
  record_.target_block = target_.place();
}

PeerWindow::~PeerWindow() {
  if (!told_) return;
  const std::atomic<bool>& dead = owner_.dead(peer_);
  if (const auto* block = reinterpret_cast<SenderBlock*>(origin_.block()))
    owner_.retired().add(std::move(origin_), &block->closed, &dead);
  if (const auto* block = reinterpret_cast<ReceiverBlock*>(target_.block()))
    owner_.retired().add(std::move(target_), &block->closed, &dead);
}

transport::WireRecord PeerWindow::record() const {
  told_ = true;
  return transport::to_wire(record_);
}

WindowEnds PeerWindow::connect(std::span<const std::byte> theirs, OperationLists& lists) {
  const auto record = transport::from_wire<WindowRecord>(theirs);
  WindowEnds ends;
  const auto reached = owner_.reach(peer_, record.memory);
  ends.reach.direct = reached.has_value();
  ends.reach.atomic = reached && reached->process == 0;
  if (ends.reach.atomic) ends.reach.address = reinterpret_cast<void*>(reached->address);
  ends.reach.eager_bytes = eager_room(record.slot_bytes);

  Pair origin = owner_.pair_with(peer_);
  origin.window = true;
  origin.port.sender = reinterpret_cast<SenderBlock*>(origin_.block());
  std::byte* const their_target = owner_.map(peer_, record.target_block);
  origin.port.receiver = reinterpret_cast<ReceiverBlock*>(their_target);
  origin.port.lines = their_target + sizeof(ReceiverBlock);
  origin.port.cut = cut_of(record.slot_bytes);
  if (reached) origin.port.other = *reached;
  origin.path = !reached                ? "window, by lines alone"
                : reached->process == 0 ? "window in shared memory"
                                        : "window by cross-memory copy";

  Pair target = owner_.pair_with(peer_);
  target.window = true;
  target.port.sender = reinterpret_cast<SenderBlock*>(owner_.map(peer_, record.origin_block));
  target.port.receiver = reinterpret_cast<ReceiverBlock*>(target_.block());
  target.port.lines = target_.block() + sizeof(ReceiverBlock);
  target.port.buffer = static_cast<std::byte*>(ours_.base);
  target.port.cut = cut_of(record_.slot_bytes);
  target.path = "window";

  const std::size_t eager_max = ends.reach.atomic
                                    ? std::min(owner_.window_eager_max(), mapped_eager_max)
                                    : owner_.window_eager_max();
  const OriginPort port(origin.port, {&lists, ends.reach, eager_max});
  origin.holding = std::move(origin_);
  target.holding = std::move(target_);
  ends.origin = std::make_unique<EndPlan<WindowOrigin>>(port, std::move(origin));
  ends.target = std::make_unique<EndPlan<WindowTarget>>(std::move(target));
  return ends;
}

}  // namespace penstock::peer
