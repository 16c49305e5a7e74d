// SPDX-License-Identifier: Apache-2.0
// What a call does that is collective over a group while it waits for the others.
#pragma once

#include <functional>
#include <vector>

#include "core/library.hpp"
#include "group/member_group.hpp"

namespace penstock::api {

// As Library::meanwhile(); throws base::Error(peer_dead) when the process of a member has ended,
// which will not come. Members outside MPI_COMM_WORLD have negative ranks, and are not looked for.
std::function<bool()> while_alive(core::Library& library, std::vector<int> world_ranks);

// The same for a group of members.
group::Watch watch_alive(core::Library& library);

}  // namespace penstock::api
