// SPDX-License-Identifier: Apache-2.0
// The memory of teams, behind the addresses that the program knows it by.
#include "api/teams.hpp"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "api/errors.hpp"
#include "api/members.hpp"
#include "base/log.hpp"
#include "coll/team_memory.hpp"
#include "core/library.hpp"
#include "core/transports.hpp"
#include "group/mpi_member_group.hpp"
#include "penstock/penstock.h"

using namespace penstock;
using base::Error;
using base::ErrorKind;
using coll::TeamMemory;

namespace {

using Memories = std::map<const void*, std::unique_ptr<TeamMemory>>;

struct Shared {
  Memories memories;
  // Of those whose end has failed: others may still use them, so they are kept to the end, but
  // their addresses may name others from now on.
  std::multimap<const void*, std::unique_ptr<TeamMemory>> ended_badly;
};

std::mutex mutex;

// Under the mutex. Takes no memory, as the library's end asks for it, and is never destroyed: what
// a program leaves that does not end MPI goes with the process.
Shared& shared() noexcept {
  static union Lasting {
    Lasting() noexcept : all() {}
    ~Lasting() {}
    Shared all;
  } lasting;
  return lasting.all;
}

Memories& memories() noexcept {
  return shared().memories;
}

// An owner's address is the key of one of them at a time.
void refuse_known(const void* base) {
  const std::lock_guard lock(mutex);
  if (memories().contains(base))
    throw Error(ErrorKind::argument,
                "the memory is a team's already: free that by PST_Team_memory_free first");
}

TeamMemory& known(const void* address) {
  const std::lock_guard lock(mutex);
  const auto found = memories().find(address);
  if (found == memories().end())
    throw Error(ErrorKind::argument,
                "the address is not one of PST_Team_memory, or has been freed already: free each "
                "once");
  return *found->second;
}

void set_apart(const void* address) {
  const std::lock_guard lock(mutex);
  shared().ended_badly.insert(memories().extract(address));
}

void forget(const void* address) {
  const std::lock_guard lock(mutex);
  memories().erase(address);
}

}  // namespace

namespace penstock::api {

void end_team_memory() noexcept {
  const std::lock_guard lock(mutex);
  for (const auto& [address, memory] : memories())
    base::log::failures_in([&, owner = address] {
      base::log::warn(fmt::format(
          "memory of a team at {} has not been freed: call PST_Team_memory_free before the end",
          owner));
    });
  memories().clear();
  shared().ended_badly.clear();
}

}  // namespace penstock::api

int PST_Team_memory(void* base, MPI_Aint size, int owner, MPI_Comm team, void* mineptr) {
  return api::guard([&](core::Library& library) {
    auto members = group::MpiMemberGroup::of_communicator(team, api::watch_alive(library));
    Memories prepared;  // so that nothing can fail on one rank alone behind the match
    members->together([&] {
      api::require_pointer(mineptr, "mineptr");
      if (members->rank() == owner) refuse_known(base);
      prepared.emplace(nullptr, nullptr);
    });
    auto memory = std::make_unique<TeamMemory>(
        std::move(members), coll::TeamMemoryCall{base, size, owner}, library.transports());
    void* const address = memory->address();
    auto node = prepared.extract(prepared.begin());
    node.key() = address;
    node.mapped() = std::move(memory);
    {
      const std::lock_guard lock(mutex);
      memories().insert(std::move(node));
    }
    *static_cast<void**>(mineptr) = address;
  });
}

int PST_Team_memory_free(void* mine) {
  return api::guard([&](core::Library& library) {
    if (mine == nullptr) return;
    TeamMemory& memory = known(mine);
    try {
      memory.close(library.settings().timeout,
                   api::while_alive(library, memory.team().world_ranks()));
    } catch (...) {
      set_apart(mine);
      throw;
    }
    forget(mine);
  });
}
