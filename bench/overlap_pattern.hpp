// SPDX-License-Identifier: Apache-2.0
// Who sends to whom in a step of bench overlap.
#pragma once

#include <vector>

namespace penstock::bench {

enum class Pattern { exchange, window, stencil3d, gather, scatter, alltoall };

struct PatternMessage {
  int peer;
  int tag;  // tells messages between the same two ranks apart
  bool sends;
};

// This rank's: its receives, then its sends. `window`: messages of a window.
std::vector<PatternMessage> pattern_messages(Pattern pattern, int rank, int ranks, int window);

// Whether all ranks have a part in it only if their number is even.
bool goes_in_pairs(Pattern pattern);

}  // namespace penstock::bench
