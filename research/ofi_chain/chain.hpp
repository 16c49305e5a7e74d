// SPDX-License-Identifier: Apache-2.0
// What a library over libfabric's deferred work cannot be faster than, between the same two
// processes and in the same run: a write that a counter releases, and an atomic addition, chained
// to it, that tells the receiver. It does not use Penstock.
#pragma once

#include <cstddef>
#include <string>

#include "pattern.hpp"
#include "ping_pong.hpp"

namespace penstock::bench {

struct ChainForm {
  const char* name;  // as --baseline
  bool manual;       // progress: whoever looks makes it, by fi_cq_read; otherwise a thread of the
                     // provider
  bool relayed;  // a thread polls a word and adds to the counter; otherwise the sender does, and it
                 // alone makes progress
};

// Null if there is no such baseline.
const ChainForm* find_chain(const std::string& name);

// Why this machine cannot run it, the same on both ranks; empty if it can. Collective.
std::string chain_refusal(const ChainForm& form);

// Half a round trip in us, of a ping-pong as PingPong's. Collective. Everything is opened for the
// round and closed after it, so that no thread of it is awake while others are measured.
double time_chain_round(const ChainForm& form, std::size_t bytes, Iterations iterations, int rank,
                        CheckResult* check);

}  // namespace penstock::bench
