// SPDX-License-Identifier: Apache-2.0
// Counts the calls that cross the library's two boundaries: of PST_ functions, and of MPI functions
// by the library. For every function that it exports or uses, this program has one of the same name
// in front, which counts and goes on.
#pragma once

#include <cstdint>

namespace penstock::test {

struct BoundaryCalls {
  std::uint64_t library = 0;
  std::uint64_t mpi = 0;

  BoundaryCalls operator-(const BoundaryCalls& other) const {
    return {library - other.library, mpi - other.mpi};
  }
};

bool can_count_boundary_calls();  // the functions in front are written for x86-64
BoundaryCalls boundary_calls_of_this_thread();
BoundaryCalls boundary_calls_of_all_threads();

}  // namespace penstock::test
