// SPDX-License-Identifier: Apache-2.0
// Neighbours in three dimensions, for the host and for kernels.
#pragma once

#if defined(__CUDACC__) || defined(__HIPCC__)
#define PENSTOCK_ANYWHERE __host__ __device__
#else
#define PENSTOCK_ANYWHERE
#endif

namespace penstock::apps {

// Directions to neighbours, as numbers: 13 is no direction, opposite ones add up to 26.
constexpr int directions = 27;
constexpr int nowhere = 13;

PENSTOCK_ANYWHERE constexpr int opposite(int direction) {
  return 26 - direction;
}

// -1, 0 or 1: the part of a direction along a dimension.
PENSTOCK_ANYWHERE constexpr int part_of(int direction, int dimension) {
  return (dimension == 0 ? direction : dimension == 1 ? direction / 3 : direction / 9) % 3 - 1;
}

// Where the messages of each direction lie; null where there is none.
struct Sides {
  double* side[directions];
};

}  // namespace penstock::apps
