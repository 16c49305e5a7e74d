// SPDX-License-Identifier: Apache-2.0
//
// Two ranks hold the halves of a matrix side by side. Each step a rank sends the column beside its
// neighbour, and receives the neighbour's into a column of ghosts: a datatype says where they lie,
// and nobody packs.
//
//   mpiexec -n 2 ./columns
//
// While you write such a program, PENSTOCK_CHECK=1 compares the elements of both ends, not only
// their sizes.
#include <cstddef>
#include <cstdio>
#include <penstock/penstock.hpp>
#include <vector>

constexpr int rows = 100, columns = 62, steps = 10;  // the first and the last column are ghosts

double value(int rank, int step, int row) {
  return 1000.0 * rank + 10.0 * row + step;
}

int count_wrong(int rank) {
  std::vector<double> half(std::size_t{rows} * columns);
  const auto at = [&](int row, int column) -> double& {
    return half[static_cast<std::size_t>(row) * columns + static_cast<std::size_t>(column)];
  };
  const int edge = rank == 0 ? columns - 2 : 1, ghosts = rank == 0 ? columns - 1 : 0;
  penstock::Stream stream;
  penstock::Queue queue(stream);
  penstock::Requests requests;
  // A column's next element is a whole row further on.
  const auto column = penstock::Datatype::vector(rows, 1, columns, MPI_DOUBLE);
  requests.add(penstock::send_init(&at(0, edge), 1, column, 1 - rank, 0, MPI_COMM_WORLD));
  requests.add(penstock::recv_init(&at(0, ghosts), 1, column, 1 - rank, 0, MPI_COMM_WORLD));
  penstock::match(requests);

  int set = 0, checked = 0, wrong = 0;
  auto set_edge = [&] {
    for (int row = 0; row < rows; ++row) at(row, edge) = value(rank, set, row);
    ++set;
  };
  auto check_ghosts = [&] {
    for (int row = 0; row < rows; ++row)
      wrong += at(row, ghosts) != value(1 - rank, checked, row) ? 1 : 0;
    ++checked;
  };
  for (int step = 0; step < steps; ++step) {
    stream.launch(std::ref(set_edge));
    queue.run(requests);
    stream.launch(std::ref(check_ghosts));
  }
  queue.synchronize();
  return wrong;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != 2) {
    if (rank == 0) std::fprintf(stderr, "two ranks have a half each: mpiexec -n 2 %s\n", argv[0]);
    MPI_Finalize();
    return 1;
  }
  const int wrong = count_wrong(rank);
  std::printf("rank %d: %d ghosts, %d of them wrong\n", rank, rows * steps, wrong);
  MPI_Finalize();
  return wrong == 0 ? 0 : 1;
}
