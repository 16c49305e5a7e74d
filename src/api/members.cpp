// SPDX-License-Identifier: Apache-2.0
#include "api/members.hpp"

#include <atomic>
#include <string>

#include "base/error.hpp"
#include "group/world.hpp"

namespace penstock::api {

std::function<bool()> while_alive(core::Library& library, const group::WindowGroup& members) {
  return [&library, &members, meanwhile = library.meanwhile()] {
    if (library.world().anybody_dead())
      for (int member = 0; member < members.size(); ++member)
        if (library.world().dead(members.world_rank(member)).load(std::memory_order_acquire))
          throw base::Error(base::ErrorKind::peer_dead,
                            "the call is collective, and the process of rank " +
                                std::to_string(members.world_rank(member)) +
                                " has ended: see its output");
    return meanwhile ? meanwhile() : false;
  };
}

}  // namespace penstock::api
