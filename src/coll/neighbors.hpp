// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coll/shape.hpp"

namespace penstock::coll {

// Alltoall and alltoallv with neighbours alone: a message for each edge, all at once.
Schedule nonblocking_neighbors(const Shape& shape, int rank);

}  // namespace penstock::coll
