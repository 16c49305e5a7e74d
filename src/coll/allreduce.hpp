// SPDX-License-Identifier: Apache-2.0
// Every rank gets the same bits, in each run.
#pragma once

#include "coll/shape.hpp"

namespace penstock::coll {

// In the order of ranks.
Schedule two_shot_allreduce(const Shape& shape, int rank);
Schedule pairs_reduce_scatter_block(const Shape& shape, int rank);

// In orders that the number of ranks, or their places on nodes, decides.
Schedule doubling_allreduce(const Shape& shape, int rank);
Schedule lanes_allreduce(const Shape& shape, int rank);
Schedule lanes_doubling_allreduce(const Shape& shape, int rank);

}  // namespace penstock::coll
