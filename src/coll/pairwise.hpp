// SPDX-License-Identifier: Apache-2.0
// Alltoall and alltoallv by a message for each pair of ranks: in step i to rank + i, from rank - i.
#pragma once

#include "coll/shape.hpp"

namespace penstock::coll {

// So many steps at once as the batch has.
Schedule pairwise_alltoall(const Shape& shape, int rank);
Schedule pairwise_alltoallv(const Shape& shape, int rank);

// All steps at once.
Schedule nonblocking_alltoall(const Shape& shape, int rank);
Schedule nonblocking_alltoallv(const Shape& shape, int rank);

}  // namespace penstock::coll
