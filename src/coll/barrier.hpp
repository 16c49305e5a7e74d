// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coll/shape.hpp"

namespace penstock::coll {

// By dissemination: a message of no bytes to the rank at distance 1, 2, 4 ... After the last step
// each rank has heard of all.
Schedule dissemination_barrier(const Shape& shape, int rank);

}  // namespace penstock::coll
