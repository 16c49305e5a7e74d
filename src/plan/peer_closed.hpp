// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/error.hpp"

namespace penstock::plan {

// What a start or a wait returns whose peer, a rank of the world, has said why it serves the pair
// no more.
base::Error peer_closed_error(base::ErrorKind reason, int peer);
// The same where the peer's words say no more than that start number `epoch` has no other half.
base::Error peer_closed_error(int peer, std::uint64_t epoch);
// The same of a member of a group.
base::Error member_closed_error(int member, std::uint64_t epoch);
// Where its process has ended without a word.
base::Error dead_error(int rank, std::uint64_t epoch);

}  // namespace penstock::plan
