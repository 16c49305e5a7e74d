// SPDX-License-Identifier: Apache-2.0
// Whom a rank exchanges blocks with, by its communicator's topology.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

namespace penstock::group {

struct Neighbor {
  int rank = MPI_PROC_NULL;
  std::size_t block = 0;  // its number in the buffer
};

// An end of each edge of this rank. Where several go from a rank to another, the k-th of those that
// the one has for destinations is the k-th of those that the other has for sources: by MPI-4.1 what
// a grid's rank sends down comes from above, and in a graph edges keep the order of the lists.
// (MPIs of earlier years differ in this: MPICH 4.0 reverses all edges of such a pair, or none.)
struct Neighbors {
  std::vector<Neighbor> destinations, sources;
};

bool has_topology(MPI_Comm comm);
// None where there is no topology. Throws base::Error(mpi), as above.
Neighbors neighbors_of(MPI_Comm comm);

}  // namespace penstock::group
