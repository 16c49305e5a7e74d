// SPDX-License-Identifier: Apache-2.0
// What it takes to end requests that nobody has matched, as the end of the library does.
#pragma once

#include <string>

namespace penstock::scale {

struct UnmatchedOptions {
  int requests = 20000;  // of a rank: sends of one, receives of the other that do not take them
  bool one_tag = false;  // else each has a tag of its own
  bool leaves = false;   // as PST_Imatch
};

struct UnmatchedTimes {
  double begin_ms = 0;      // both hand them to match
  double sends_ms = 0;      // the sender gives up
  double withdrawn_ms = 0;  // the receiver reads that
  double receives_ms = 0;   // the receiver gives up
  double rest_ms = 0;       // until neither has letters left
};

UnmatchedTimes end_unmatched(const UnmatchedOptions& options);

}  // namespace penstock::scale
