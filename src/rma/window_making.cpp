// SPDX-License-Identifier: Apache-2.0
// How a window is made: what its members tell each other, and the ends of its pairs.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "rma/window.hpp"
#include "transport/wire_record.hpp"

namespace penstock::rma {

using base::Error;
using base::ErrorKind;
using transport::WindowMemory;
using transport::WindowOffer;

namespace {

std::atomic<std::uint64_t> windows_made{0};

// What a member tells of its part.
struct PartRecord {
  std::uint64_t bytes = 0;
  std::uint64_t address = 0;
  std::uint64_t unit = 1;
  device::MemoryKind memory = device::MemoryKind::host;
  std::uint32_t checks = 0;
};

}  // namespace

Window::Window(std::unique_ptr<group::MemberGroup> group, const WindowMemory& ours,
               std::int64_t unit, core::Transports& transports, const WindowOptions& options)
    : number_(windows_made.fetch_add(1, std::memory_order_relaxed) + 1),
      options_(options),
      group_(std::move(group)) {
  const PartRecord mine{ours.bytes, reinterpret_cast<std::uintptr_t>(ours.base),
                        static_cast<std::uint64_t>(unit), ours.memory, options.checks};
  const auto parts = group_->all_gather(transport::to_wire(mine));
  WindowMemory part_of_ours = ours;
  group_->together([&] {
    for (int member = 0; member < group_->size(); ++member) {
      const auto part = transport::from_wire<PartRecord>(parts[static_cast<std::size_t>(member)]);
      auto& peer = *peers_.emplace_back(std::make_unique<Peer>());
      peer.world_rank = group_->world_rank(member);
      peer.bytes = part.bytes;
      peer.unit = std::max<std::uint64_t>(part.unit, 1);
      peer.units = peer.bytes / peer.unit;
      peer.misalignment = part.address % 8;
      checks_ = checks_ || part.checks != 0;
      // Nothing lies nowhere: who exposes nothing goes with those that expose something.
      if (ours.bytes == 0 && part.memory != device::MemoryKind::host)
        part_of_ours.memory = part.memory;
    }
    ends_ = std::make_shared<EndsOfWindow>();
    scratch_.reserve(peers_.size());
  });
  try {
    connect(part_of_ours, transports);
  } catch (...) {
    end_pairs({});
    throw;
  }
}

Window::~Window() {
  end_pairs({});
}

// The first transport that serves both ways, as both members see it: a bit a transport, for each
// peer.
std::vector<std::size_t> Window::choose(const WindowMemory& ours,
                                        const core::Transports& transports) const {
  const auto& entries = transports.entries();
  group::MemberGroup::Records told;
  std::vector<Error> refusals;
  for (const auto& peer : peers_) {
    std::uint64_t served = 0;
    std::string why;
    ErrorKind kind = ErrorKind::transport;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const auto verdict = entries[i].allowed
                               ? entries[i].transport->can_serve_window(ours, peer->world_rank)
                               : base::refused("not in PENSTOCK_TRANSPORT");
      if (verdict.yes) served |= std::uint64_t{1} << i;
      if (verdict.kind != ErrorKind::transport) kind = verdict.kind;  // MPI's thread level
      why += (why.empty() ? "" : "; ") + entries[i].transport->name() + ": " + verdict.why;
    }
    if (served != 0) kind = ErrorKind::transport;
    refusals.emplace_back(
        kind, fmt::format("no transport serves the window between this rank and rank {} ({})",
                          peer->world_rank, why));
    told.push_back(transport::to_wire(served));
  }
  const auto theirs = group_->exchange(told);
  std::vector<std::size_t> chosen;
  group_->together([&] {
    for (std::size_t member = 0; member < peers_.size(); ++member) {
      const auto both = transport::from_wire<std::uint64_t>(told[member]) &
                        transport::from_wire<std::uint64_t>(theirs[member]);
      if (both == 0) throw refusals[member];
      chosen.push_back(static_cast<std::size_t>(__builtin_ctzll(both)));
    }
  });
  return chosen;
}

void Window::connect(const WindowMemory& ours, core::Transports& transports) {
  const auto chosen = choose(ours, transports);
  std::vector<std::unique_ptr<WindowOffer>> offers;
  group_->together([&] {
    for (std::size_t member = 0; member < peers_.size(); ++member)
      offers.push_back(transports.entries()[chosen[member]].transport->open_window(
          ours, peers_[member]->world_rank));
  });
  group::MemberGroup::Records records;
  for (const auto& offer : offers) records.push_back(offer->record());
  const auto theirs = group_->exchange(records);
  group_->together([&] {
    for (std::size_t member = 0; member < peers_.size(); ++member) {
      Peer& peer = *peers_[member];
      transport::WindowEnds ends = offers[member]->connect(theirs[member], peer.lists);
      peer.reach = ends.reach;
      peer.posts_are_words = ends.posts_are_words;
      peer.origin = end_of(Role::origin, peer, std::move(ends.origin)).release();
      peer.target = end_of(Role::target, peer, std::move(ends.target)).release();
    }
  });
}

std::unique_ptr<WindowEnd> Window::end_of(Role role, const Peer& peer,
                                          std::unique_ptr<transport::Plan> plan) const {
  base::trace::TracedMessage traced;
  traced.sends = role == Role::origin;
  traced.peer = peer.world_rank;
  traced.window = static_cast<std::int64_t>(number_);
  return std::make_unique<WindowEnd>(role, label_of(role, peer), traced, std::move(plan), ends_);
}

std::string Window::label_of(Role role, const Peer& peer) const {
  return fmt::format("{}, {} rank {}", name(), role == Role::origin ? "access to" : "exposure to",
                     peer.world_rank);
}

}  // namespace penstock::rma
