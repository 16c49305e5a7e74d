// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench_table.hpp"

namespace penstock::bench {

// Prints what belongs to no size of bench rma: a put, to its caller, and making a window; MPI's own
// beside them. Collective over both ranks.
void print_window_costs(const Options& options, const tool::Session& session, const Table& table);

}  // namespace penstock::bench
