// SPDX-License-Identifier: Apache-2.0
#include "collect.hpp"

#include <mpi.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <vector>

namespace penstock::life {
namespace {

// A larger file is no Life pattern, and would not fit into one broadcast.
constexpr long max_file = 1L << 30;

// The file's size on success, -1 when it cannot be read.
long try_to_read(const std::string& path, std::string& text) {
  std::ifstream file(path, std::ios::binary);
  text.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  const auto size = static_cast<long>(text.size());
  return file.is_open() && !file.bad() && size < max_file ? size : -1;
}

void put(const std::vector<std::uint8_t>& cells, const Block& block, Grid& grid) {
  for (int y = 0; y < block.height; ++y) {
    std::copy_n(cells.data() + static_cast<std::size_t>(y) * static_cast<std::size_t>(block.width),
                block.width, grid.row(block.y + y) + block.x);
  }
}

}  // namespace

std::string read_file_once(const std::string& path, const tool::Session& session) {
  std::string text;
  long size = session.is_root() ? try_to_read(path, text) : 0;
  MPI_Bcast(&size, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  if (size < 0)
    throw tool::UserError(
        "cannot read the pattern file " + path +
        ": give the path of an .rle file, as those in the sources' apps/life/patterns");
  text.resize(static_cast<std::size_t>(size));
  MPI_Bcast(text.data(), static_cast<int>(size), MPI_CHAR, 0, MPI_COMM_WORLD);
  return text;
}

std::optional<Grid> collect(const std::vector<std::uint8_t>& cells, const halo::Grid<2>& blocks,
                            const tool::Session& session) {
  constexpr int tag = 100;
  if (!session.is_root()) {
    MPI_Send(cells.data(), static_cast<int>(cells.size()), MPI_BYTE, 0, tag, MPI_COMM_WORLD);
    return std::nullopt;
  }
  Grid grid(static_cast<int>(blocks.cells()[1]), static_cast<int>(blocks.cells()[0]));
  put(cells, block_of(blocks, 0), grid);
  for (int rank = 1; rank < session.size(); ++rank) {
    const Block block = block_of(blocks, rank);
    std::vector<std::uint8_t> theirs(static_cast<std::size_t>(block.width) *
                                     static_cast<std::size_t>(block.height));
    MPI_Recv(theirs.data(), static_cast<int>(theirs.size()), MPI_BYTE, rank, tag, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    put(theirs, block, grid);
  }
  return grid;
}

}  // namespace penstock::life
