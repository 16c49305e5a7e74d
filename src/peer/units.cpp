// SPDX-License-Identifier: Apache-2.0
#include "peer/units.hpp"

#include <atomic>
#include <utility>

#include "base/error.hpp"

namespace penstock::peer {

using base::Error;
using base::ErrorKind;
using transport::Direction;

namespace {

// The words of the units, in whole cache lines: a shadow may follow.
std::size_t words_bytes(std::uint64_t units) noexcept {
  return (units * sizeof(std::uint64_t) + cache_line - 1) / cache_line * cache_line;
}

std::uint64_t* words_behind(UnitsBlock* block) noexcept {
  return reinterpret_cast<std::uint64_t*>(block + 1);
}

}  // namespace

Units::Units(Peer& owner, const ChannelMessage& ours)
    : owner_(owner),
      ours_(ours),
      dead_(owner.dead(ours.peer)),
      lasting_copy_(ours.peer, dead_, owner.timeout()) {
  hold(0, nullptr);
  record_.across = owner.copies_across(ours.peer);
  record_.eager_max = owner.eager_max();
  setup_.released = words_behind(setup_.ours);
  setup_.writing = &setup_.ours->writing;
}

// Ordinary memory is reached by a call of the system for each unit, which large ones are worth: as
// messages of the same size are.
Units::Units(Peer& owner, const ChannelMessage& ours, const UnitsRecord& theirs)
    : owner_(owner),
      ours_(ours),
      dead_(owner.dead(ours.peer)),
      lasting_copy_(ours.peer, dead_, owner.timeout()) {
  ExposedMemory exposed = owner.expose(ours.buffer, ours.bytes);
  const bool straight = exposed.record.in_arena != 0 || owner.is_self(ours.peer);
  const bool across = theirs.across != 0 && ours.unit_bytes > theirs.eager_max;
  way_ = straight ? UnitWay::straight : across ? UnitWay::across : UnitWay::shadow;
  record_.way = way_;
  record_.buffer = exposed.record;
  const bool shadowed = way_ == UnitWay::shadow;
  hold(shadowed ? ours.bytes : 0, std::move(exposed.kept));
  setup_.arrived = words_behind(setup_.ours);
  if (shadowed)
    setup_.shadow = reinterpret_cast<std::byte*>(setup_.arrived) + words_bytes(ours.units);
  reach(theirs);
  setup_.released = words_behind(setup_.theirs);
  setup_.writing = &setup_.theirs->writing;
}

void Units::hold(std::size_t shadow_bytes, std::shared_ptr<const void> kept) {
  owner_.retired().sweep();
  holding_ =
      owner_.hold(sizeof(UnitsBlock) + words_bytes(ours_.units) + shadow_bytes, std::move(kept));
  setup_.ours = reinterpret_cast<UnitsBlock*>(holding_.block());
  setup_.buffer = ours_.buffer;
  setup_.bytes = ours_.bytes;
  setup_.unit_bytes = ours_.unit_bytes;
  record_.block = holding_.place();
}

void Units::reach(const UnitsRecord& theirs) {
  setup_.theirs = reinterpret_cast<UnitsBlock*>(owner_.map(ours_.peer, theirs.block));
}

void Units::connect(const UnitsRecord& receivers) {
  confirm();
  reach(receivers);
  way_ = receivers.way;
  setup_.arrived = words_behind(setup_.theirs);
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
  if (way_ == UnitWay::shadow) {
    std::byte* const shadow =
        reinterpret_cast<std::byte*>(setup_.arrived) + words_bytes(ours_.units);
    setup_.target = {reinterpret_cast<std::uintptr_t>(shadow)};
  } else if (const auto reached = owner_.reach(ours_.peer, receivers.buffer)) {
    setup_.target = *reached;
  } else {
    throw Error(ErrorKind::internal,
                "the receive buffer of the channel cannot be reached after all");
  }
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
