// SPDX-License-Identifier: Apache-2.0
#include "peer/delivery_offer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "peer/delivery_exchange.hpp"
#include "peer/group_plan.hpp"
#include "transport/wire_record.hpp"

namespace penstock::peer {

using transport::GroupBlock;
using transport::GroupMessage;

namespace {

struct Span {
  std::byte* begin = nullptr;
  std::byte* end = nullptr;
  std::size_t bytes() const noexcept { return static_cast<std::size_t>(end - begin); }
};

// From the first byte that others write to behind the last one, with all that lies in between.
Span span_of_incoming(const GroupMessage& message) {
  Span span;
  for (std::size_t member = 0; member < message.blocks.size(); ++member) {
    const GroupBlock& block = message.blocks[member];
    if (member == message.me || block.bytes_from == 0) continue;
    span.begin = span.begin == nullptr ? block.to : std::min(span.begin, block.to);
    span.end = std::max(span.end, block.to + block.bytes_from);
  }
  return span;
}

}  // namespace

transport::Verdict can_deliver(const Peer& owner, const GroupMessage& ours) {
  const Span span = span_of_incoming(ours);
  const ExposedMemory exposed = owner.expose(span.begin, span.bytes());
  for (std::size_t member = 0; member < ours.members.size(); ++member) {
    const int rank = ours.members[member];
    const bool writes = member != ours.me && ours.blocks[member].bytes_from != 0;
    if (writes && !owner.reached_by(rank, exposed.record))
      return {false,
              fmt::format(
                  "rank {} of MPI_COMM_WORLD cannot write to the receive buffer, which is not of "
                  "PST_Alloc_mem: {}",
                  rank, owner.reaches(rank).why)};
  }
  return base::accepted();
}

DeliveryOffer::DeliveryOffer(Peer& owner, const GroupMessage& ours) : owner_(owner), ours_(ours) {
  const Span span = span_of_incoming(ours);
  ExposedMemory exposed = owner.expose(span.begin, span.bytes());
  record_.memory = exposed.record;
  holding_ = owner.hold(ours.members.size() * sizeof(DeliverySeat), std::move(exposed.kept));
  record_.block = holding_.place();
  for (std::size_t member = 0; member < ours.members.size(); ++member)
    if (member != ours.me && ours.blocks[member].bytes_from != 0)
      seat_of(member).offset = static_cast<std::uint64_t>(ours.blocks[member].to - span.begin);
}

transport::WireRecord DeliveryOffer::record() const {
  return transport::to_wire(record_);
}

DeliverySeat& DeliveryOffer::seat_of(std::size_t member) const noexcept {
  return reinterpret_cast<DeliverySeat*>(holding_.block())[member];
}

DeliveryPort::Route DeliveryOffer::route_to(std::size_t member,
                                            const DeliveryRecord& theirs) const {
  DeliveryPort::Route route;
  route.block = ours_.blocks[member];
  route.rank = ours_.members[member];
  route.dead = &owner_.dead(route.rank);
  if (member == ours_.me) {
    route.target.address = reinterpret_cast<std::uintptr_t>(route.block.to);
    return route;
  }
  route.here = &seat_of(member);
  route.there = reinterpret_cast<DeliverySeat*>(owner_.map(route.rank, theirs.block)) + ours_.me;
  if (route.block.bytes_to == 0) return route;
  route.target = owner_.reach(route.rank, theirs.memory).value();
  route.target.address += route.there->offset;
  return route;
}

std::shared_ptr<const std::byte[]> DeliveryOffer::keep_aside(
    std::vector<DeliveryPort::Route>& routes) const {
  if (!ours_.in_place) return nullptr;
  std::size_t bytes = 0;
  for (const GroupBlock& block : ours_.blocks) bytes += block.bytes_to;
  std::shared_ptr<std::byte[]> memory(new std::byte[bytes]);
  std::byte* next = memory.get();
  for (std::size_t member = 0; member < routes.size(); ++member) {
    if (member == ours_.me) continue;
    routes[member].aside = next;
    next += routes[member].block.bytes_to;
  }
  return memory;
}

std::unique_ptr<transport::Plan> DeliveryOffer::connect(
    std::span<const transport::WireRecord> records) {
  std::vector<DeliveryPort::Route> routes;
  for (std::size_t member = 0; member < records.size(); ++member)
    routes.push_back(route_to(member, transport::from_wire<DeliveryRecord>(records[member])));
  auto aside = keep_aside(routes);
  const bool between_barriers = ours_.way == transport::GroupWay::put_fence;
  return std::make_unique<GroupPlan<DeliveryExchange>>(
      DeliveryPort(std::move(routes), static_cast<unsigned>(ours_.me), between_barriers,
                   std::move(aside)),
      ours_.members, std::move(holding_), owner_.retired());
}

}  // namespace penstock::peer
