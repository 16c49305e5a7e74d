// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <penstock/halo.hpp>
#include <string>

// One gather on a periodic grid; true if every ghost cell holds what its neighbour has.
bool gathers() {
  penstock::Stream stream;
  const penstock::halo::Grid<2> grid(MPI_COMM_WORLD, {8, 8}, {true, true});
  const auto block = grid.block();
  std::vector<int> cells(static_cast<std::size_t>((block[0] + 2) * (block[1] + 2)));
  const auto view = penstock::halo::row_major<2>(cells.data(), {block[0] + 2, block[1] + 2});
  for (int i = 1; i <= block[0]; ++i) {
    for (int j = 1; j <= block[1]; ++j) view(i, j) = 7;
  }
  penstock::halo::Halo<2> halo(stream, grid, {}, view);
  halo.enqueue_gather(view);
  halo.synchronize();
  for (const int cell : cells) {
    if (cell != 7) return false;
  }
  return true;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (PST_Init() != MPI_SUCCESS || !gathers()) return 1;
  int major = 0, minor = 0, patch = 0;
  if (PST_Get_version(&major, &minor, &patch) != MPI_SUCCESS) return 2;
  const std::string version =
      std::to_string(major) + '.' + std::to_string(minor) + '.' + std::to_string(patch);
  std::cout << "penstock-" + version + '\n' << std::flush;
  MPI_Finalize();
  return 0;
}
