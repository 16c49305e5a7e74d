// SPDX-License-Identifier: Apache-2.0
// One end of a rendezvous as several blocks (protocol/team.hpp), and the other end as one thread,
// over the memory model. Kernel after kernel, the leader waits until the peer is ready and has the
// message copied, by push or by pull; the peer may be released from any of its waits and closes;
// and once this end is gone, the words that its blocks store into serve another pair. Every block
// may come as late as it likes. What the team's code does is the shipped code; the leader's
// decision, which the explorer has elsewhere, is cut down to a look at one word.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "protocol/model/memory.hpp"
#include "protocol/team.hpp"

namespace penstock::explorer::teams {

using protocol::team::Task;

// What is planted, one at a time.
enum class Defect : std::uint8_t {
  none,
  late_block_does_not_check,  // whether the pair has been given up, or the peer has closed
  first_failure_tells,        // without the other blocks being through
  only_the_first_tells_the_host,
  stale_command,     // of whichever kernel
  done_before_copy,  // or FIN
  relaxed_command_store,
  relaxed_command_load,
  no_fence_after_copy,
  not_counted,           // a block other than the leader
  relaxed_mark,          // that a copy does not hold
  no_fence_before_end,   // of the last block, whose own copy holds
  reuse_after_closed,    // instead of GONE
  tells_without_leader,  // at once
  untold_is_forgotten    // by a leader that finds the half given up
};

struct Scenario {
  Task task = Task::push;
  unsigned blocks = 2;
  unsigned parts = 2;
  unsigned epochs = 2;
  // A block's wait may be ended at any time, though its leader has not come.
  bool impatient = false;
  Defect defect = Defect::none;
};

struct Result {
  std::size_t states = 0;
  std::string failure;  // empty, or what is wrong and the steps that lead to it
  bool ok() const { return failure.empty(); }
};

Result explore(const Scenario& scenario);

}  // namespace penstock::explorer::teams
