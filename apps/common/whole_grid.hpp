// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <penstock/halo.hpp>
#include <vector>

namespace penstock::apps {

// The cells of all ranks on rank 0, in the order of the whole grid; elsewhere nothing. `mine` are
// those of this rank in the order of its block. Collective.
std::vector<double> collect(const std::vector<double>& mine, const halo::Grid<3>& grid);

}  // namespace penstock::apps
