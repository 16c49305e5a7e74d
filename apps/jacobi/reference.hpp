// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "jacobi/field.hpp"

namespace penstock::jacobi {

struct Reference {
  Progress progress;
  std::vector<double> cells;  // in the grid's order
};

// The same by one plain loop over the whole grid.
Reference solve_serially(const Problem& problem);

}  // namespace penstock::jacobi
