// SPDX-License-Identifier: Apache-2.0
// Grids cut into blocks, and the ranks that have them.
#include <algorithm>
#include <numeric>
#include <penstock/halo.hpp>

#include "agreement.hpp"

namespace penstock::halo {
namespace {

using Extents = std::vector<std::ptrdiff_t>;

std::string text_of(const Extents& extents) {
  std::string text;
  for (const std::ptrdiff_t extent : extents)
    text += (text.empty() ? "" : " x ") + std::to_string(extent);
  return text;
}

std::ptrdiff_t product(const Extents& extents) {
  return std::accumulate(extents.begin(), extents.end(), std::ptrdiff_t{1}, std::multiplies<>());
}

int size_of(MPI_Comm comm) {
  int size = 0;
  penstock::detail::check(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  return size;
}

// Cells that a block of average size sends to other ranks: what the choice of a rank grid is about.
double surface(const Extents& cells, const Extents& ranks) {
  double sum = 0;
  for (std::size_t d = 0; d < cells.size(); ++d) {
    double face = ranks[d] > 1 ? 1 : 0;
    for (std::size_t e = 0; e < cells.size(); ++e) {
      if (e != d) face *= static_cast<double>(cells[e]) / static_cast<double>(ranks[e]);
    }
    sum += face;
  }
  return sum;
}

bool better(const Extents& cells, const Extents& ranks, const Extents& best) {
  const double mine = surface(cells, ranks);
  const double other = surface(cells, best);
  if (mine != other) return mine < other;
  const auto longest = [](const Extents& extents) {
    return *std::max_element(extents.begin(), extents.end());
  };
  if (longest(ranks) != longest(best)) return longest(ranks) < longest(best);
  return ranks < best;  // the larger number in the later dimension
}

// Tries all rank grids that agree with what is asked for (0: any) from dimension d on.
void try_ranks(const Extents& cells, const Extents& asked, std::ptrdiff_t left, Extents& ranks,
               Extents& best) {
  const std::size_t d = ranks.size();
  if (d == cells.size()) {
    if (left == 1 && (best.empty() || better(cells, ranks, best))) best = ranks;
    return;
  }
  for (std::ptrdiff_t count = 1; count <= std::min(left, cells[d]); ++count) {
    if (left % count != 0 || (asked[d] != 0 && asked[d] != count)) continue;
    ranks.push_back(count);
    try_ranks(cells, asked, left / count, ranks, best);
    ranks.pop_back();
  }
}

Extents choose_ranks(MPI_Comm comm, const Extents& cells, const Extents& asked) {
  for (const std::ptrdiff_t count : cells) {
    if (count < 1) refuse("a grid of " + text_of(cells) + " cells has none");
  }
  const int size = size_of(comm);
  const bool all_asked =
      std::all_of(asked.begin(), asked.end(), [](std::ptrdiff_t count) { return count > 0; });
  if (all_asked && product(asked) != size) {
    refuse("a rank grid of " + text_of(asked) + " is not one of " + std::to_string(size) +
           " ranks");
  }
  Extents ranks;
  Extents best;
  try_ranks(cells, asked, size, ranks, best);
  if (best.empty()) {
    refuse("a grid of " + text_of(cells) + " cells is too small for " + std::to_string(size) +
           " ranks: no rank grid gives every rank a cell; take a larger grid or fewer ranks");
  }
  return best;
}

std::vector<Extents> cut(const Extents& cells, const Extents& ranks) {
  std::vector<Extents> blocks(cells.size());
  for (std::size_t d = 0; d < cells.size(); ++d) {
    for (std::ptrdiff_t i = 0; i < ranks[d]; ++i) {
      blocks[d].push_back((i + 1) * cells[d] / ranks[d] - i * cells[d] / ranks[d]);
    }
  }
  return blocks;
}

void check_cuts(MPI_Comm comm, const std::vector<Extents>& blocks) {
  Extents ranks;
  for (const Extents& cuts : blocks) {
    ranks.push_back(static_cast<std::ptrdiff_t>(cuts.size()));
    for (const std::ptrdiff_t cells : cuts) {
      if (cells < 1) refuse("blocks of " + text_of(cuts) + " cells leave ranks without cells");
    }
  }
  if (product(ranks) != size_of(comm)) {
    refuse(text_of(ranks) + " blocks are not one for each of " + std::to_string(size_of(comm)) +
           " ranks");
  }
}

std::string description(const std::vector<Extents>& blocks, const std::vector<bool>& periodic) {
  std::string text = "a grid";
  for (std::size_t d = 0; d < blocks.size(); ++d) {
    text += std::string(d == 0 ? " of " : ", ") + (periodic[d] ? "periodic" : "bounded") +
            " blocks " + text_of(blocks[d]);
  }
  return text;
}

std::shared_ptr<const MPI_Comm> duplicate(MPI_Comm comm) {
  MPI_Comm own = MPI_COMM_NULL;
  penstock::detail::check(MPI_Comm_dup(comm, &own), "MPI_Comm_dup");
  std::shared_ptr<const MPI_Comm> shared(new MPI_Comm(own), [](const MPI_Comm* handle) {
    MPI_Comm freed = *handle;
    delete handle;
    if (penstock::detail::mpi_is_running()) MPI_Comm_free(&freed);
  });
  penstock::detail::check(PST_Comm_attach(own), "PST_Comm_attach");
  return shared;
}

}  // namespace

namespace detail {

GridShape::GridShape(MPI_Comm comm, const Extents& cells, std::vector<bool> periodic,
                     const Extents& ranks)
    : GridShape(
          comm,
          [&] {
            std::vector<Extents> blocks;
            together(comm, [&] { blocks = cut(cells, choose_ranks(comm, cells, ranks)); });
            return blocks;
          }(),
          std::move(periodic)) {}

GridShape::GridShape(MPI_Comm comm, std::vector<Extents> blocks, std::vector<bool> periodic)
    : blocks_(std::move(blocks)), periodic_(std::move(periodic)) {
  together(comm, [&] { check_cuts(comm, blocks_); });
  expect_same(comm, description(blocks_, periodic_));
  comm_ = duplicate(comm);
  penstock::detail::check(MPI_Comm_rank(*comm_, &rank_), "MPI_Comm_rank");
}

MPI_Comm GridShape::comm() const noexcept {
  return *comm_;
}

std::ptrdiff_t GridShape::coordinate(std::size_t d, int rank) const noexcept {
  std::ptrdiff_t index = rank;
  for (std::size_t e = dimensions() - 1; e > d; --e) index /= ranks(e);
  return index % ranks(d);
}

std::ptrdiff_t GridShape::cells(std::size_t d) const noexcept {
  return std::accumulate(blocks_[d].begin(), blocks_[d].end(), std::ptrdiff_t{0});
}

std::ptrdiff_t GridShape::first(std::size_t d, int rank) const noexcept {
  return std::accumulate(blocks_[d].begin(), blocks_[d].begin() + coordinate(d, rank),
                         std::ptrdiff_t{0});
}

std::ptrdiff_t GridShape::block(std::size_t d, int rank) const noexcept {
  return blocks_[d][static_cast<std::size_t>(coordinate(d, rank))];
}

std::ptrdiff_t GridShape::smallest_block(std::size_t d) const noexcept {
  return *std::min_element(blocks_[d].begin(), blocks_[d].end());
}

int GridShape::neighbour(const std::ptrdiff_t* offset, int rank) const noexcept {
  std::ptrdiff_t index = 0;
  for (std::size_t d = 0; d < dimensions(); ++d) {
    std::ptrdiff_t at = coordinate(d, rank) + offset[d];
    if (at < 0 || at >= ranks(d)) {
      if (!periodic_[d]) return MPI_PROC_NULL;
      at = (at % ranks(d) + ranks(d)) % ranks(d);
    }
    index = index * ranks(d) + at;
  }
  return static_cast<int>(index);
}

}  // namespace detail
}  // namespace penstock::halo
