// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench_table.hpp"

namespace penstock::bench {

// Prints what a message costs beside its latency: the enqueueing calls, waking a worker that
// sleeps, and a host that waits for its queue in every iteration. Collective over both ranks.
void print_caller_costs(const Options& options, const tool::Session& session, const Table& table);

}  // namespace penstock::bench
