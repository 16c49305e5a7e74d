// SPDX-License-Identifier: Apache-2.0
#include "channel/bag_lane.hpp"

#include <cstring>
#include <utility>

#include "peer/peer.hpp"

namespace penstock::channel {

BagLane::BagLane(const BagShape& shape, const LaneSource& source, std::byte* slots, bool copies,
                 peer::Holding holding, peer::Peer& peer)
    : shape_(shape),
      source_(source),
      slots_(slots),
      copies_(copies),
      holding_(std::move(holding)),
      block_(*reinterpret_cast<LaneBlock*>(holding_.block())),
      retired_(peer.retired()),
      lasting_copy_(source.rank, *source.dead, peer.timeout()),
      held_(shape.slots) {}

// The source may still put into the block.
BagLane::~BagLane() {
  if (!connected_) return;
  retired_.add(std::move(holding_), [closed = &block_.closed, dead = source_.dead] {
    return std::atomic_ref(*closed).load(std::memory_order_acquire) == gone ||
           dead->load(std::memory_order_acquire);
  });
}

// That the slot's last message has been used, this thread knows by way of the source, whose put
// followed the release. Acquire: a detector of races, which does not see into the source's process,
// learns it from let_go() (tests under ThreadSanitizer).
void BagLane::take(Number number, const BagEntry& entry) noexcept {
  (void)held_[entry.slot].load(std::memory_order_acquire);
  const std::size_t at = entry.slot * shape_.slot_bytes();
  if (copies_ && entry.count > 0)
    std::memcpy(slots_ + at, block_.messages(shape_) + at, entry.count * shape_.element_bytes);
  held_[entry.slot].store(number, std::memory_order_relaxed);
}

}  // namespace penstock::channel
