// SPDX-License-Identifier: Apache-2.0
//
// The largest eigenvalue of a matrix whose rows the ranks share: in each step a product with the
// vector, its norm over all ranks, and the new vector from all of them. The hosts wait once.
//
//   mpiexec -n 2 ./power_iteration
#include <mpi.h>

#include <cmath>
#include <iostream>
#include <penstock/collectives.hpp>
#include <vector>

namespace {

constexpr int rows = 40;  // of a rank
constexpr int steps = 300;

// A chain of springs: 2 on the diagonal, -1 beside it. Its largest eigenvalue is known.
struct Chain {
  std::vector<double> vector, part;
  double norm = 0;  // of the product, squared
  int first;

  Chain(int rank, int ranks)
      : vector(static_cast<std::size_t>(rows * ranks)), part(rows), first(rank * rows) {
    for (std::size_t i = 0; i < vector.size(); ++i) vector[i] = i % 2 == 0 ? 1 : -1;
  }
  double at(int i) const {
    return i < 0 || static_cast<std::size_t>(i) >= vector.size()
               ? 0
               : vector[static_cast<std::size_t>(i)];
  }
  void multiply() {
    norm = 0;
    for (int i = 0; i < rows; ++i) {
      const int row = first + i;
      const double product = 2 * at(row) - at(row - 1) - at(row + 1);
      part[static_cast<std::size_t>(i)] = product;
      norm += product * product;
    }
  }
  void scale() {
    for (double& each : part) each /= std::sqrt(norm);
  }
};

int run(int rank, int ranks) {
  Chain chain(rank, ranks);
  penstock::Stream stream;
  penstock::Queue queue(stream);
  penstock::Requests requests;
  requests.add(penstock::allreduce_init(std::span(&chain.norm, 1), MPI_SUM, MPI_COMM_WORLD));
  requests.add(penstock::allgather_init(chain.part, chain.vector, MPI_COMM_WORLD));
  penstock::match(requests);

  for (int step = 0; step < steps; ++step) {
    stream.launch([&chain] { chain.multiply(); });
    queue.run(requests[0]);
    stream.launch([&chain] { chain.scale(); });
    queue.run(requests[1]);
  }
  queue.synchronize();

  const double found = std::sqrt(chain.norm);
  const double angle = std::acos(-1.0) / (2.0 * (rows * ranks + 1));
  const double exact = 4 * std::cos(angle) * std::cos(angle);
  std::cout << "rank " << rank << " found " << found << ", exact " << exact << ", "
            << penstock::algorithm_of(requests[0]) << " and " << penstock::algorithm_of(requests[1])
            << '\n';
  return std::abs(found - exact) < 2e-3 * exact ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  penstock::return_errors();
  int rank = 0, ranks = 1, code = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  try {
    code = run(rank, ranks);
  } catch (const penstock::Error& error) {
    std::cerr << "power_iteration: " << error.what() << '\n';
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return code;
}
