// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.hpp"

namespace penstock::plan {

// What a start or a wait returns whose peer, a rank of the world, has said why it serves the pair
// no more.
base::Error peer_closed_error(base::ErrorKind reason, int peer);

}  // namespace penstock::plan
