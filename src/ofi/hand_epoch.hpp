// SPDX-License-Identifier: Apache-2.0
// The epoch that the engine carries out, since the provider had not been given all of it by its
// doorbell: the engine issues what is missing, and counts and writes what the provider would have.
#pragma once

#include <memory>

#include "ofi/deferred_work.hpp"
#include "ofi/posted_ahead.hpp"
#include "protocol/epoch.hpp"

namespace penstock::ofi {

struct HandEpoch {
  protocol::Epoch epoch = 0;  // 0: the engine carries out none
  PostedPart posted;          // what the provider has of it
  bool fired = false;         // the trigger has reached it
  unsigned issued = 0;        // parts, with those that the provider has
  unsigned placed = 0;        // parts of ours that have ended
  bool counted = false;       // the counter knows of them
  bool owes_addition = false;
  std::unique_ptr<RdmaOperation[]> parts;
  RdmaOperation addition;

  bool under_way() const noexcept { return epoch != 0; }
  void begin(protocol::Epoch which, const PostedPart& part, bool adds) noexcept {
    epoch = which;
    posted = part;
    fired = counted = false;
    issued = part.parts;
    placed = 0;
    owes_addition = adds && !part.addition;
  }
};

}  // namespace penstock::ofi
