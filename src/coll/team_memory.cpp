// SPDX-License-Identifier: Apache-2.0
#include "coll/team_memory.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "core/matching/letter.hpp"

namespace penstock::coll {

using base::Error;
using base::ErrorKind;

// Who has opened the memory while another one could not closes it before the owner hears of that.
TeamMemory::TeamMemory(std::unique_ptr<group::MemberGroup> team, const TeamMemoryCall& part,
                       core::Transports& transports)
    : team_(std::move(team)) {
  team_->together([&] { check(part); });
  require_alike(part);
  std::vector<std::byte> shared;
  team_->together([&] {
    if (is_owner(part)) shared = share(part, transports);
  });
  shared = team_->all_gather(shared)[static_cast<std::size_t>(part.owner)];
  try {
    team_->together([&] {
      if (!is_owner(part)) open(team_->world_rank(part.owner), shared, transports);
    });
  } catch (const Error&) {
    opened_.reset();
    team_->on_all(false);  // a barrier: what it says is not asked
    throw;
  }
}

void TeamMemory::check(const TeamMemoryCall& part) const {
  if (part.owner < 0 || part.owner >= team_->size())
    throw Error(ErrorKind::argument, fmt::format("owner {} is no rank of the team", part.owner));
  if (part.bytes < 0)
    throw Error(ErrorKind::argument,
                fmt::format("the size of the team's memory is negative: {}", part.bytes));
  if (is_owner(part) && part.base == nullptr)
    throw Error(ErrorKind::argument, "the owner's address is a null pointer");
}

void TeamMemory::require_alike(const TeamMemoryCall& part) {
  core::LetterWriter letter;
  const auto all = team_->all_gather(letter.value(part.owner).value(part.bytes).take());
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    core::LetterReader first(all.front()), other(all[rank]);
    const int owner = first.value<int>(), others_owner = other.value<int>();
    if (owner != others_owner)
      throw Error(ErrorKind::argument,
                  fmt::format("rank 0 of the team names {} as the owner of its memory, and rank {} "
                              "names {}",
                              owner, rank, others_owner));
    const auto bytes = first.value<std::int64_t>(), others_bytes = other.value<std::int64_t>();
    if (bytes != others_bytes)
      throw Error(ErrorKind::argument,
                  fmt::format("rank 0 of the team has {} bytes of memory, and rank {} has {}",
                              bytes, rank, others_bytes));
  }
}

// By the first transport that can, whatever PENSTOCK_TRANSPORT says of messages.
std::vector<std::byte> TeamMemory::share(const TeamMemoryCall& part, core::Transports& transports) {
  std::string why;
  const auto& entries = transports.entries();
  const auto bytes = static_cast<std::size_t>(part.bytes);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const base::Verdict verdict = entries[i].transport->can_share(part.base, bytes);
    if (!verdict.yes) {
      if (!verdict.why.empty())
        why += fmt::format("{}{}: {}", why.empty() ? "" : "; ", entries[i].transport->name(),
                           verdict.why);
      continue;
    }
    transport::SharedMemory shared = entries[i].transport->share(part.base, bytes);
    base_ = static_cast<std::byte*>(part.base);
    kept_ = std::move(shared.kept);
    return core::LetterWriter().value(i).bytes(shared.record).take();
  }
  throw Error(ErrorKind::unsupported, "its memory cannot be shared with the team (" + why + ")");
}

void TeamMemory::open(int owner, std::span<const std::byte> shared, core::Transports& transports) {
  core::LetterReader letter(shared);
  const auto entry = letter.value<std::size_t>();
  opened_ = transports.entries()[entry].transport->open_shared(owner, letter.bytes());
}

void TeamMemory::close(std::chrono::milliseconds timeout, const std::function<bool()>& meanwhile) {
  opened_.reset();
  if (!team_->meet(timeout, meanwhile))
    throw Error(
        ErrorKind::timeout,
        fmt::format("PST_Team_memory_free is collective, and PENSTOCK_TIMEOUT={} has passed "
                    "before all ranks of the team have called it: some may still use the "
                    "memory: leave it as it is",
                    std::chrono::duration<double>(timeout).count()));
  kept_.reset();
}

}  // namespace penstock::coll
