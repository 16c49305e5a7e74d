// SPDX-License-Identifier: Apache-2.0
//
// Every rank adds its part of a sum to rank 0's window and fetches the total of the step before,
// step after step on streams; the hosts wait once.
//
//   mpiexec -n 2 ./window
#include <mpi.h>

#include <cstdint>
#include <iostream>
#include <numeric>
#include <penstock/window.hpp>
#include <vector>

namespace {

constexpr int steps = 500;

// The total that is expected after `step` steps: rank r adds r + 1 in each.
std::int64_t total(int ranks, int step) {
  return std::int64_t{step} * ranks * (ranks + 1) / 2;
}

int run(int rank, int ranks) {
  penstock::Window<std::int64_t> window(MPI_COMM_WORLD, 1);
  penstock::Stream stream;
  penstock::Queue queue(stream);
  std::vector<int> everybody(static_cast<std::size_t>(ranks));
  std::iota(everybody.begin(), everybody.end(), 0);
  const penstock::Group all(MPI_COMM_WORLD, everybody), first(MPI_COMM_WORLD, {0});

  const std::int64_t part = rank + 1;
  std::vector<std::int64_t> fetched(steps);
  for (int step = 0; step < steps; ++step) {
    // One epoch for what is fetched and one for what is added: within one they have no order.
    for (const bool fetch : {true, false}) {
      std::vector<penstock::ExposureEpoch> exposure;
      if (rank == 0) exposure.push_back(window.post(all, queue));
      auto access = window.start(first);
      if (fetch)
        access.get({&fetched[static_cast<std::size_t>(step)], 1}, 0, 0);
      else
        access.accumulate({&part, 1}, MPI_SUM, 0, 0);
      access.complete(queue);
      for (auto& epoch : exposure) epoch.wait();
    }
  }
  queue.synchronize();

  int wrong = 0;
  for (int step = 0; step < steps; ++step)
    wrong += fetched[static_cast<std::size_t>(step)] != total(ranks, step);
  std::cout << "rank " << rank << ": the last total fetched is " << fetched.back() << ", " << wrong
            << " of " << steps << " wrong\n";
  return wrong == 0 ? 0 : 1;
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
    std::cerr << "window: " << error.what() << '\n';
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return code;
}
