// SPDX-License-Identifier: Apache-2.0
#include "peer/rally_offer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "peer/group_plan.hpp"
#include "peer/rally_exchange.hpp"
#include "transport/wire_record.hpp"

namespace penstock::peer {

transport::Verdict can_rally(const transport::GroupMessage& ours) {
  for (const transport::GroupBlock& block : ours.blocks)
    if (const auto bytes = std::max(block.bytes_to, block.bytes_from); bytes > rally_largest)
      return {false, fmt::format("{} bytes for a member, and slots hold {}", bytes, rally_largest)};
  return base::accepted();
}

RallyOffer::RallyOffer(Peer& owner, const transport::GroupMessage& ours)
    : owner_(owner), ours_(ours) {
  block_.members = ours.members.size();
  for (const transport::GroupBlock& block : ours.blocks)
    block_.slot_bytes = std::max(block_.slot_bytes, rally_cut(block.bytes_from).slot_bytes());
  holding_ = owner.hold(block_.bytes(), nullptr);
  block_.memory = holding_.block();
}

transport::WireRecord RallyOffer::record() const {
  RallyRecord record;
  record.slot_bytes = block_.slot_bytes;
  record.block = holding_.place();
  return transport::to_wire(record);
}

RallyPort::Route RallyOffer::route_to(unsigned member, const RallyRecord& theirs) const {
  const auto me = static_cast<unsigned>(ours_.me);
  const int rank = ours_.members[member];
  const RallyBlock there{owner_.map(rank, theirs.block), ours_.members.size(), theirs.slot_bytes};
  const unsigned our_seat = RallyBlock::seat(member, me), their_seat = RallyBlock::seat(me, member);
  RallyPort::Route route(ours_.blocks[member]);
  route.there.slots = there.slots(our_seat);
  route.there.slot_bytes = there.slot_bytes;
  route.here.slots = block_.slots(their_seat);
  route.here.slot_bytes = block_.slot_bytes;
  route.closed_there = there.closed(our_seat);
  route.closed_here = block_.closed(their_seat);
  route.dead = &owner_.dead(rank);
  return route;
}

std::unique_ptr<transport::Plan> RallyOffer::connect(
    std::span<const transport::WireRecord> records) {
  std::vector<RallyPort::Route> routes;
  for (unsigned member = 0; member < records.size(); ++member) {
    const auto theirs = transport::from_wire<RallyRecord>(records[member]);
    routes.push_back(member == ours_.me ? RallyPort::Route(ours_.blocks[member])
                                        : route_to(member, theirs));
  }
  std::optional<transport::Combiner> combiner;
  if (ours_.combination) combiner = transport::combiner_of(*ours_.combination);
  return std::make_unique<GroupPlan<RallyExchange>>(
      RallyPort(std::move(routes), static_cast<unsigned>(ours_.me), combiner), ours_.members,
      std::move(holding_), owner_.retired());
}

}  // namespace penstock::peer
