// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coll/shape.hpp"

namespace penstock::coll {

// In each step to the next rank what came from the one before.
Schedule ring_allgather(const Shape& shape, int rank);

// What a rank has doubles in each step: it comes from the rank that is as far away as the rank has
// blocks.
Schedule dissemination_allgather(const Shape& shape, int rank);

}  // namespace penstock::coll
