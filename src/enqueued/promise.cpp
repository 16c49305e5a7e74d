// SPDX-License-Identifier: Apache-2.0
#include "enqueued/promise.hpp"

#include <algorithm>
#include <utility>

#include "enqueued/message.hpp"
#include "group/mpi_communicator.hpp"
#include "peer/peer.hpp"
#include "transport/wire_record.hpp"

namespace penstock::enqueued {

namespace {

constexpr std::uint32_t least_slots = 4;
constexpr std::size_t most_lane_bytes = std::size_t{4} << 20;

// What a member tells each other one.
struct PromiseRecord {
  std::uint64_t reaches = 0;  // it gets at the other one's shared memory
  peer::ArenaAddress board;
};

}  // namespace

Promise::Promise(std::unique_ptr<group::MpiMemberGroup> members, core::Transports& transports,
                 const base::Settings& settings)
    : most_bytes_(settings.eager_max), group_(std::move(members)), peer_(transports.peer()) {
  group_->together([&] {
    if (settings.allows(base::peer_transport) && peer_.usable().yes)
      board_ = std::make_unique<peer::LaneBoard>(peer_);
    boards_.resize(static_cast<std::size_t>(group_->size()));
  });
  connect();
}

// A lane is made where both members get at each other's memory.
void Promise::connect() {
  group::MemberGroup::Records mine;
  for (int member = 0; member < group_->size(); ++member) {
    PromiseRecord record;
    if (board_ && peer_.reaches(group_->world_rank(member)).yes) record = {1, board_->place()};
    mine.push_back(transport::to_wire(record));
  }
  const auto theirs = group_->exchange(mine);
  for (std::size_t member = 0; member < theirs.size(); ++member) {
    const auto record = transport::from_wire<PromiseRecord>(theirs[member]);
    const auto own = transport::from_wire<PromiseRecord>(mine[member]);
    if (record.reaches != 0 && own.reaches != 0) boards_[member] = record.board;
  }
}

// A tag is used again when all others have been.
int Promise::next_mpi_tag() noexcept {
  static const int last_tag = group::last_tag();
  last_mpi_tag_ = last_mpi_tag_ == last_tag ? 0 : last_mpi_tag_ + 1;
  return last_mpi_tag_;
}

Envelope& Promise::envelope(const EnvelopeKey& key) {
  const auto& board = boards_[static_cast<std::size_t>(key.peer)];
  const std::lock_guard lock(mutex_);
  const auto [place, is_new] = envelopes_.try_emplace(key, key, board.has_value());
  Envelope& envelope = place->second;
  if (!is_new) return envelope;
  try {
    envelope.lanes.reserve(1);
    if (board && key.direction == transport::Direction::send)
      envelope.search = envelope.device_search =
          peer::LaneSearch(peer_, group_->world_rank(key.peer), *board);
  } catch (...) {
    envelopes_.erase(place);
    throw;
  }
  return envelope;
}

// A message beyond what a slot may hold needs one all the same, which says how it comes.
bool Promise::needs_lane(const EnqueuedMessage& receive) noexcept {
  const Envelope& envelope = *receive.promised.envelope;
  if (!envelope.by_lanes) return false;
  const std::size_t has = envelope.lane_bytes.load(std::memory_order_relaxed);
  return has == 0 || has < std::min(receive.bytes, envelope.promise.most_bytes_);
}

// Twice as many slots as this bundle has messages: their senders go on while these are taken.
peer::LaneShape Promise::lane_shape(const Envelope& envelope, const Bundle& bundle,
                                    const SlotBytes& bytes) noexcept {
  std::size_t messages = 0, wanted = bytes.wanted;
  for (const EnqueuedMessage& message : bundle) {
    if (message.promised.envelope != &envelope) continue;
    ++messages;
    wanted = std::max(wanted, message.bytes);
  }
  peer::LaneShape shape;
  shape.slot_bytes = std::max(bytes.least, std::min(wanted, bytes.most));
  const std::size_t slots = std::min(2 * messages, most_lane_bytes / shape.slot_bytes);
  shape.slots = std::max(least_slots, static_cast<std::uint32_t>(slots));
  return shape;
}

void Promise::make_lane(const EnqueuedMessage& receive, const Bundle& bundle, std::mutex& engine) {
  Envelope& envelope = *receive.promised.envelope;
  const std::lock_guard lock(mutex_);
  const std::size_t before = envelope.lane_bytes.load(std::memory_order_relaxed);
  const peer::LaneShape shape =
      lane_shape(envelope, bundle, {2 * before, peer::LaneSlot::small_bytes, most_bytes_});
  {
    const std::lock_guard no_looks(engine);
    envelope.lanes.reserve(envelope.lanes.size() + 1);
  }
  const peer::Lane lane = board_->add(envelope.key.peer, envelope.key.tag, shape);
  const std::lock_guard no_looks(engine);
  envelope.lanes.push_back(lane);
  envelope.lane_bytes.store(shape.slot_bytes, std::memory_order_relaxed);
}

}  // namespace penstock::enqueued
