// SPDX-License-Identifier: Apache-2.0
#include "common/whole_grid.hpp"

#include <mpi.h>

#include <algorithm>

namespace penstock::apps {

std::vector<double> collect(const std::vector<double>& mine, const halo::Grid<3>& grid) {
  constexpr int tag = 202;
  if (grid.rank() != 0) {
    MPI_Send(mine.data(), static_cast<int>(mine.size()), MPI_DOUBLE, 0, tag, grid.comm());
    return {};
  }
  const auto cells = grid.cells();
  std::vector<double> whole(static_cast<std::size_t>(cells[0] * cells[1] * cells[2]));
  const auto view = halo::row_major<3>(whole.data(), cells);
  int ranks = 0;
  MPI_Comm_size(grid.comm(), &ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    const auto block = grid.block(rank);
    const auto first = grid.first(rank);
    std::vector<double> theirs(static_cast<std::size_t>(block[0] * block[1] * block[2]));
    if (rank == 0) {
      theirs = mine;
    } else {
      MPI_Recv(theirs.data(), static_cast<int>(theirs.size()), MPI_DOUBLE, rank, tag, grid.comm(),
               MPI_STATUS_IGNORE);
    }
    const auto from = halo::row_major<3>(theirs.data(), block);
    for (std::ptrdiff_t i = 0; i < block[0]; ++i) {
      for (std::ptrdiff_t j = 0; j < block[1]; ++j) {
        std::copy_n(&from(i, j, 0), block[2], &view(first[0] + i, first[1] + j, first[2]));
      }
    }
  }
  return whole;
}

}  // namespace penstock::apps
