// SPDX-License-Identifier: Apache-2.0
#include "peer_gpu/rally_offer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "transport/wire_record.hpp"

namespace penstock::peer_gpu {

using base::Error;
using base::ErrorKind;
using transport::GroupBlock;

namespace {

constexpr std::size_t most_members = 16;
constexpr std::uint64_t most_slot_bytes = std::uint64_t{64} << 20;  // of all members together

std::uint64_t most_bytes(const transport::GroupMessage& message) {
  std::uint64_t most = 0;
  for (const GroupBlock& block : message.blocks)
    most = std::max<std::uint64_t>({most, block.bytes_to, block.bytes_from});
  return most;
}

// Of a slot, whichever form is agreed on: the most that comes from another member.
std::uint32_t slot_cells(const transport::GroupMessage& message) {
  std::uint32_t most = wide_cells;
  for (std::size_t member = 0; member < message.blocks.size(); ++member)
    if (member != message.me) most = std::max(most, rally_cells(message.blocks[member].bytes_from));
  return (most + wide_cells - 1) / wide_cells * wide_cells;
}

// Of the slots for so many others.
std::uint64_t cells_of(std::size_t others, std::uint32_t slot_cells) {
  return std::uint64_t{protocol::rally::slots} * slot_cells * others;
}
// Of those of one among so many members. One alone has a place for its slots as well.
std::uint64_t cells_at(std::size_t members, std::uint32_t slot_cells) {
  return cells_of(std::max<std::size_t>(members, 2) - 1, slot_cells);
}
// Where those for `other` begin, at `me`.
std::uint64_t first_cell(std::size_t me, std::size_t other, std::uint32_t slot_cells) {
  return cells_of(other < me ? other : other - 1, slot_cells);
}

std::vector<RallyRecord> read_records(std::span<const transport::WireRecord> records) {
  std::vector<RallyRecord> members;
  for (const auto& record : records) members.push_back(transport::from_wire<RallyRecord>(record));
  return members;
}

// All members decide alike: each knows all records.
RallyForm form_of(std::span<const RallyRecord> members) {
  const auto carries = [](const RallyRecord& from, const RallyRecord& to) {
    return std::find(from.whole_lines.begin(), from.whole_lines.end(), to.device) !=
           from.whole_lines.end();
  };
  bool asked = false;
  for (const RallyRecord& each : members) {
    asked = asked || each.asks_lines != 0;
    for (const RallyRecord& other : members)
      if (!carries(each, other)) return RallyForm::cells;
  }
  return asked ? RallyForm::lines : RallyForm::cells;
}

}  // namespace

transport::Verdict can_rally(const transport::GroupMessage& ours) {
  if (ours.memory != device::MemoryKind::cuda)
    return {false, "the buffers are not in " PENSTOCK_GPU " memory"};
  if (ours.way != transport::GroupWay::slots)
    return {false, "nothing is delivered between GPUs, which have the direct exchange"};
  if (ours.members.size() > most_members)
    return {false, fmt::format("it has more than {} members", most_members)};
  const std::uint64_t slots = cells_at(ours.members.size(), 1) * sizeof(Cell);
  if (most_bytes(ours) / rally_payload > most_slot_bytes / slots)
    return {false, fmt::format("its slots would take more than {} MiB", most_slot_bytes >> 20)};
  return {true, ""};
}

bool can_rally_in_lines(const transport::GroupMessage& ours) {
  return ours.memory == device::MemoryKind::cuda && ours.members.size() == 2;
}

transport::Verdict can_rally_together(std::span<const transport::WireRecord> records) {
  const std::vector<RallyRecord> members = read_records(records);
  for (std::size_t i = 0; i < members.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (members[i].device == members[j].device && members[i].beside_others == 0)
        return {false, fmt::format("ranks {} and {} of it share a GPU without the multi-process "
                                   "service, and their kernels take turns",
                                   j, i)};
  return {true, ""};
}

RallyOffer::RallyOffer(Halves& halves, const transport::GroupMessage& ours)
    : halves_(halves), ours_(ours) {
  const int device = ours.gpu;
  const std::size_t members = ours.members.size();
  record_.device = halves.devices().identity(device);
  record_.device_number = device;
  record_.beside_others = halves.devices().runs_beside_others(device);
  record_.slot_cells = slot_cells(ours);
  record_.asks_lines =
      can_rally_in_lines(ours) && most_bytes(ours) >= halves.settings().cuda_wide_lines;
  halves.devices().list_whole_lines(device, record_.whole_lines);
  parts_.arena = halves.devices().arena(device);
  parts_.state = parts_.arena->allocate(sizeof(RallyState));
  static_assert(sizeof(RallyNotice) <= gpu::PinnedPool::piece);
  parts_.notice = halves.gpus().pinned().take();
  if (halves.gates().use_on(device) != GateUse::none) {
    parts_.wait_place = halves.places_on(device)->take_for_pair();
    if (!parts_.wait_place)
      throw Error(ErrorKind::resources, "there is no place left on the GPU for one more wait");
  }
  const auto slots = parts_.arena->allocate(cells_at(members, record_.slot_cells) * sizeof(Cell));
  record_.slots = gpu::export_memory(slots.get());
  parts_.retired = &halves.host().retired();
  parts_.holding = halves.host().hold(members * sizeof(EndWords), slots);
  record_.host_words = parts_.holding.place();
}

// Where we store what is for the member, and find what is for us.
RallyRoute RallyOffer::route_to(std::size_t member, const RallyRecord& theirs, RallyForm form) {
  const GroupBlock& block = ours_.blocks[member];
  const auto me = ours_.me;
  RallyRoute route;
  route.from = block.from;
  route.bytes_to = block.bytes_to;
  route.to = block.to;
  route.bytes_from = block.bytes_from;
  route.units_to = rally_units(form, block.bytes_to);
  route.units_from = rally_units(form, block.bytes_from);
  if (member == me) return route;
  const int rank = ours_.members[member];
  parts_.imports.push_back(
      halves_.remote().reach(rank, parts_.arena->device(), theirs.device_number, theirs.slots));
  route.there = reinterpret_cast<Cell*>(parts_.imports.back().get()) +
                first_cell(member, me, theirs.slot_cells);
  route.there_cells = theirs.slot_cells;
  route.here = reinterpret_cast<const Cell*>(record_.slots.address) +
               first_cell(me, member, record_.slot_cells);
  route.here_cells = record_.slot_cells;
  return route;
}

// A thread has one cell, or a part of one line, as long as there are threads.
void RallyOffer::shape(RallyItem& item, RallyForm form) const {
  item.members = static_cast<std::uint16_t>(ours_.members.size());
  item.me = static_cast<std::uint16_t>(ours_.me);
  item.form = form;
  item.most_units = rally_units(form, most_bytes(ours_));
  const std::uint32_t wanted = item.most_units * (form == RallyForm::cells ? 1 : wide_cells);
  item.threads = static_cast<std::uint16_t>(
      std::clamp<std::uint32_t>((wanted + 31) / 32 * 32, 32, most_threads));
  item.blocks = static_cast<std::uint16_t>(
      std::clamp<std::uint32_t>((wanted + item.threads - 1) / item.threads, 1, most_rally_blocks));
  item.alike = item.aligned = item.one_source = true;
  for (const GroupBlock& block : ours_.blocks) {
    const auto lies_aligned = [](const std::byte* address) {
      return reinterpret_cast<std::uintptr_t>(address) % rally_payload == 0;
    };
    item.aligned = item.aligned && lies_aligned(block.from) && lies_aligned(block.to);
    const GroupBlock& first = ours_.blocks.front();
    item.one_source =
        item.one_source && block.from == first.from && block.bytes_to == first.bytes_to;
    item.alike = item.alike && rally_units(form, block.bytes_to) == item.most_units &&
                 rally_units(form, block.bytes_from) == item.most_units;
  }
  if (!ours_.combination) return;
  item.combines = true;
  item.combination = *ours_.combination;
}

std::unique_ptr<transport::Plan> RallyOffer::connect(
    std::span<const transport::WireRecord> records) {
  auto* const words = reinterpret_cast<EndWords*>(parts_.holding.block());
  const std::vector<RallyRecord> members = read_records(records);
  const RallyForm form = form_of(members);
  for (std::size_t member = 0; member < members.size(); ++member) {
    const RallyRecord& theirs = members[member];
    routes_.push_back(route_to(member, theirs, form));
    const int rank = ours_.members[member];
    RallyMember& entry = parts_.members.emplace_back();
    entry.rank = rank;
    entry.dead = &halves_.world().dead(rank);
    if (member == ours_.me) continue;
    entry.told =
        reinterpret_cast<EndWords*>(halves_.host().map(rank, theirs.host_words)) + ours_.me;
    entry.tells = words + member;
  }
  RallyItem& item = parts_.item;
  shape(item, form);
  item.state = reinterpret_cast<RallyState*>(parts_.state.get());
  item.notice = static_cast<RallyNotice*>(parts_.notice.get());
  if (routes_.size() <= RallyItem::most_inside) {
    std::copy(routes_.begin(), routes_.end(), item.route);
  } else {
    const std::size_t bytes = routes_.size() * sizeof(RallyRoute);
    parts_.routes = parts_.arena->allocate(bytes);
    parts_.arena->write(parts_.routes.get(), routes_.data(), bytes);
    item.list = reinterpret_cast<const RallyRoute*>(parts_.routes.get());
  }
  return std::make_unique<RallyPlan>(std::move(parts_), halves_.gpus().watchdog());
}

}  // namespace penstock::peer_gpu
