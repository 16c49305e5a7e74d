// SPDX-License-Identifier: Apache-2.0
#include "api/members.hpp"

#include <atomic>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "group/world.hpp"

namespace penstock::api {

std::function<bool()> while_alive(core::Library& library, std::vector<int> world_ranks) {
  return [&library, members = std::move(world_ranks), meanwhile = library.meanwhile()] {
    if (library.world().anybody_dead())
      for (const int member : members)
        if (member >= 0 && library.world().dead(member).load(std::memory_order_acquire))
          throw base::Error(base::ErrorKind::peer_dead,
                            "the call is collective, and the process of rank " +
                                std::to_string(member) + " has ended: see its output");
    return meanwhile ? meanwhile() : false;
  };
}

group::Watch watch_alive(core::Library& library) {
  return [&library](std::vector<int> ranks) { return while_alive(library, std::move(ranks)); };
}

}  // namespace penstock::api
