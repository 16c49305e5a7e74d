// SPDX-License-Identifier: Apache-2.0
//
// A wave that runs around a ring without a copy: in each step a function on the stream computes
// this rank's edge right into its right neighbour's memory.
//
//   mpiexec -n 2 ./window_store
#include <mpi.h>

#include <cstddef>
#include <iostream>
#include <penstock/window.hpp>
#include <span>

namespace {

constexpr int steps = 200;
constexpr std::size_t edge = 1000;

// What a step reads and writes: this rank's own elements, and the right neighbour's.
struct Step {
  std::span<const long> mine;
  long* there;
  long bad = 0;  // elements that did not come in their step
  long now = 0;
};

// Every element travels to the right, one more than it was.
void compute(void* argument) {
  auto& step = *static_cast<Step*>(argument);
  for (std::size_t i = 0; i < step.mine.size(); ++i) {
    step.bad += step.mine[i] != step.now;
    step.there[i] = step.mine[i] + 1;
  }
  step.now += 2;  // the windows take turns
}

long run(int rank, int ranks) {
  penstock::Stream stream;
  penstock::Queue queue(stream);
  const int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
  const penstock::Group origin(MPI_COMM_WORLD, {left}), target(MPI_COMM_WORLD, {right});
  // Elements of one step and of the next, in turns: one is read while the other comes.
  penstock::Window<long> windows[2] = {{MPI_COMM_WORLD, edge}, {MPI_COMM_WORLD, edge}};
  Step state[2];
  for (int i : {0, 1}) state[i] = {windows[i].local(), windows[1 - i].remote(right)};
  state[1].now = 1;

  for (int step = 0; step < steps; ++step) {
    penstock::Window<long>& next = windows[1 - step % 2];
    auto exposure = next.post(origin, queue);
    auto access = next.start(target, queue);  // what follows on the stream may store there
    stream.launch(compute, &state[step % 2]);
    access.complete(queue);
    exposure.wait();
  }
  queue.synchronize();
  return state[0].bad + state[1].bad + (windows[steps % 2].local()[edge - 1] != steps);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  penstock::return_errors();
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  long wrong = 1;
  try {
    wrong = run(rank, ranks);
  } catch (const penstock::Error& error) {
    std::cerr << "window_store: " << error.what() << '\n';
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  std::cout << "rank " << rank << ": " << wrong << " wrong after " << steps << " steps\n";
  MPI_Finalize();
  return wrong == 0 ? 0 : 1;
}
