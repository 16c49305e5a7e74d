// SPDX-License-Identifier: Apache-2.0
#include "group/mpi_neighbors.hpp"

#include "group/mpi_check.hpp"

namespace penstock::group {

namespace {

int topology_of(MPI_Comm comm) {
  int topology = MPI_UNDEFINED;
  check_mpi(PMPI_Topo_test(comm, &topology), "MPI_Topo_test");
  return topology;
}

std::vector<Neighbor> in_order(const std::vector<int>& ranks) {
  std::vector<Neighbor> neighbors;
  neighbors.reserve(ranks.size());
  for (const int rank : ranks) neighbors.push_back({rank, neighbors.size()});
  return neighbors;
}

// Each dimension has a block of the rank below, and one of the rank above.
Neighbors of_grid(MPI_Comm comm) {
  int dimensions = 0;
  check_mpi(PMPI_Cartdim_get(comm, &dimensions), "MPI_Cartdim_get");
  Neighbors neighbors;
  for (int dimension = 0; dimension < dimensions; ++dimension) {
    Neighbor below, above;
    check_mpi(PMPI_Cart_shift(comm, dimension, 1, &below.rank, &above.rank), "MPI_Cart_shift");
    below.block = 2 * static_cast<std::size_t>(dimension);
    above.block = below.block + 1;
    neighbors.destinations.insert(neighbors.destinations.end(), {below, above});
    neighbors.sources.insert(neighbors.sources.end(), {above, below});
  }
  return neighbors;
}

Neighbors of_graph(MPI_Comm comm) {
  int rank = 0, count = 0;
  check_mpi(PMPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  check_mpi(PMPI_Graph_neighbors_count(comm, rank, &count), "MPI_Graph_neighbors_count");
  std::vector<int> ranks(static_cast<std::size_t>(count));
  check_mpi(PMPI_Graph_neighbors(comm, rank, count, ranks.data()), "MPI_Graph_neighbors");
  return {in_order(ranks), in_order(ranks)};
}

Neighbors of_distributed_graph(MPI_Comm comm) {
  int in = 0, out = 0, weighted = 0;
  check_mpi(PMPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted),
            "MPI_Dist_graph_neighbors_count");
  std::vector<int> sources(static_cast<std::size_t>(in)), in_weights(sources.size());
  std::vector<int> destinations(static_cast<std::size_t>(out)), out_weights(destinations.size());
  check_mpi(PMPI_Dist_graph_neighbors(comm, in, sources.data(), in_weights.data(), out,
                                      destinations.data(), out_weights.data()),
            "MPI_Dist_graph_neighbors");
  return {in_order(destinations), in_order(sources)};
}

}  // namespace

bool has_topology(MPI_Comm comm) {
  return topology_of(comm) != MPI_UNDEFINED;
}

Neighbors neighbors_of(MPI_Comm comm) {
  switch (topology_of(comm)) {
    case MPI_CART:
      return of_grid(comm);
    case MPI_GRAPH:
      return of_graph(comm);
    case MPI_DIST_GRAPH:
      return of_distributed_graph(comm);
    default:
      return {};
  }
}

}  // namespace penstock::group
