// SPDX-License-Identifier: Apache-2.0
// What each rank gives to a collective and gets of it. The blocks of a rank lie one behind the
// other, in the order of the ranks that they are for, or come from.
#pragma once

#include "traffic.hpp"

namespace penstock::bench {

// The root of those that have one.
inline constexpr int root_rank = 0;

// A row for each size and each algorithm.
std::vector<Row> collective_rows(const Options& options, const tool::Session& session);
// Those of one size.
std::vector<Row> collective_rows_of(const Options& options, const tool::Session& session,
                                    std::size_t bytes);

}  // namespace penstock::bench
