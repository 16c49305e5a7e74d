// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cg/system.hpp"

namespace penstock::cg {

// The same by plain loops over the whole grid.
History solve_serially(const Problem& problem);

// The largest |b - A x| of a cell, of x in the grid's order.
double largest_residual(const halo::Index<3>& cells, const std::vector<double>& solution);

}  // namespace penstock::cg
