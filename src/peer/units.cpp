// SPDX-License-Identifier: Apache-2.0
#include "peer/units.hpp"

#include <atomic>
#include <utility>

#include "base/error.hpp"

namespace penstock::peer {

using base::Error;
using base::ErrorKind;

namespace {

// A line brings a message with its word at once, which is worth a copy. Large channels are better
// off with words side by side, of which a cache line has eight.
constexpr std::uint64_t line_payload = cache_line - sizeof(std::uint64_t);
constexpr std::uint64_t most_lines = 4096;

// In whole cache lines: a shadow may follow.
std::size_t words_bytes(std::uint64_t units) noexcept {
  return (units * sizeof(std::uint64_t) + cache_line - 1) / cache_line * cache_line;
}

std::size_t receiver_bytes(UnitWay way, const ChannelMessage& ours) noexcept {
  if (way == UnitWay::lines) return ours.units * cache_line;
  return words_bytes(ours.units) + (way == UnitWay::shadow ? ours.bytes : 0);
}

// Ordinary memory is reached by a call of the system for each unit, which large ones are worth: as
// messages of the same size are.
UnitWay way_for(const ChannelMessage& ours, bool straight, const UnitsRecord& theirs) noexcept {
  if (ours.unit_bytes <= line_payload && ours.units <= most_lines) return UnitWay::lines;
  if (straight) return UnitWay::straight;
  return theirs.across != 0 && ours.unit_bytes > theirs.eager_max ? UnitWay::across
                                                                  : UnitWay::shadow;
}

}  // namespace

Units::Units(Peer& owner, const ChannelMessage& ours)
    : owner_(owner),
      ours_(ours),
      dead_(owner.dead(ours.peer)),
      lasting_copy_(ours.peer, dead_, owner.timeout()) {
  hold(words_bytes(ours.units), nullptr);
  record_.across = owner.copies_across(ours.peer);
  record_.eager_max = owner.eager_max();
  lay_out_sender(setup_.ours);
}

Units::Units(Peer& owner, const ChannelMessage& ours, const UnitsRecord& theirs)
    : owner_(owner),
      ours_(ours),
      dead_(owner.dead(ours.peer)),
      lasting_copy_(ours.peer, dead_, owner.timeout()) {
  ExposedMemory exposed = owner.expose(ours.buffer, ours.bytes);
  const bool straight = exposed.record.in_arena != 0 || owner.is_self(ours.peer);
  record_.way = way_ = way_for(ours, straight, theirs);
  record_.buffer = exposed.record;
  hold(receiver_bytes(way_, ours), std::move(exposed.kept));
  setup_.shadow = lay_out_receiver(setup_.ours);
  reach(theirs);
  lay_out_sender(setup_.theirs);
}

void Units::hold(std::size_t bytes_behind, std::shared_ptr<const void> kept) {
  owner_.retired().sweep();
  holding_ = owner_.hold(sizeof(UnitsBlock) + bytes_behind, std::move(kept));
  setup_.ours = reinterpret_cast<UnitsBlock*>(holding_.block());
  setup_.buffer = ours_.buffer;
  setup_.bytes = ours_.bytes;
  setup_.unit_bytes = ours_.unit_bytes;
  record_.block = holding_.place();
}

void Units::reach(const UnitsRecord& theirs) {
  setup_.theirs = reinterpret_cast<UnitsBlock*>(owner_.map(ours_.peer, theirs.block));
}

void Units::lay_out_sender(UnitsBlock* block) noexcept {
  setup_.released = reinterpret_cast<std::uint64_t*>(block + 1);
  setup_.writing = &block->writing;
}

// Returns the shadow, where there is one.
std::byte* Units::lay_out_receiver(UnitsBlock* block) noexcept {
  auto* const first = reinterpret_cast<std::byte*>(block + 1);
  setup_.arrived = first;
  setup_.target_stride = ours_.unit_bytes;
  if (way_ == UnitWay::shadow) return first + words_bytes(ours_.units);
  if (way_ != UnitWay::lines) return nullptr;
  setup_.arrived += line_payload;
  setup_.arrived_stride = setup_.target_stride = cache_line;
  return first;
}

void Units::connect(const UnitsRecord& receivers) {
  confirm();
  reach(receivers);
  way_ = receivers.way;
  try {
    reach_target(receivers);
  } catch (...) {
    std::atomic_ref(setup_.theirs->closed)
        .store(static_cast<std::uint64_t>(WhyClosed::given_up), std::memory_order_release);
    leave();
    throw;
  }
}

void Units::reach_target(const UnitsRecord& receivers) {
  if (std::byte* const shadow = lay_out_receiver(setup_.theirs))
    setup_.target = {reinterpret_cast<std::uintptr_t>(shadow)};
  else if (const auto reached = owner_.reach(ours_.peer, receivers.buffer))
    setup_.target = *reached;
  else
    throw Error(ErrorKind::internal,
                "the receive buffer of the channel cannot be reached after all");
}

void Units::confirm() noexcept {
  if (!std::exchange(confirmed_, true)) owner_.count_words();
}

// Until the other end knows of our block, or where it never will, nobody stores into it.
Units::~Units() {
  if (!confirmed_) return;
  owner_.retired().add(std::move(holding_), &setup_.ours->gone, &dead_);
}

void Units::leave() noexcept {
  std::atomic_ref(setup_.theirs->gone).store(1, std::memory_order_release);
}

std::string Units::path() const {
  switch (way_) {
    case UnitWay::lines:
      return "peer (words, each in a line with its message)";
    case UnitWay::straight:
      return "peer (words, straight into the receive buffer)";
    case UnitWay::across:
      return "peer (words, cross-memory copy)";
    case UnitWay::shadow:
      break;
  }
  return "peer (words, through memory of the library's: allocate the receive buffer with "
         "PST_Alloc_mem)";
}

}  // namespace penstock::peer
