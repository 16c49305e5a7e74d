// SPDX-License-Identifier: Apache-2.0
// Who sends what to whom in a step of bench overlap.
#pragma once

#include "traffic.hpp"

namespace penstock::bench {

enum class Moves { exchange, window, stencil3d, gather, scatter, alltoall };

// This rank's messages of `bytes` each. `window`: messages of a window.
Traffic overlap_traffic(Moves moves, int rank, int ranks, std::size_t bytes, int window);

// Whether all ranks have a part in it only if their number is even.
bool goes_in_pairs(Moves moves);

}  // namespace penstock::bench
