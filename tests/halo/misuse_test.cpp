// SPDX-License-Identifier: Apache-2.0
// What cannot be is refused on all ranks alike, before anything is exchanged.
#include <functional>

#include "cells.hpp"
#include "halo_lane.hpp"
#include "support/environment.hpp"

namespace penstock::test {
namespace {

using halo::Halo;
using halo::Options;
using halo::Pattern;
using halo::Sends;

// Every rank is refused, with these words.
void expect_refused(const std::string& words, const std::function<void()>& call) {
  try {
    call();
    ADD_FAILURE() << "not refused: " << words;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), PST_ERROR_ARGUMENT) << error.what();
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
  meet();
}

class HaloMisuse : public ::testing::Test {
 protected:
  HaloMisuse() : cells_(grid_, 1, 1, row_major_layout<3>()) {}
  // After what was refused, exchanges go on as ever.
  ~HaloMisuse() override {
    Halo<2> halo(queue_type, lane_.address(), grid_, Options(), cells_.one_component());
    halo.enqueue_gather(cells_.one_component());
    halo.synchronize();
  }

  HaloLane lane_;
  Grid<2> grid_{MPI_COMM_WORLD, {12, 12}, {true, true}};
  Cells<double, 2> cells_;
};

TEST_F(HaloMisuse, GridsWithoutACellForEachRank) {
  expect_refused("no rank grid gives every rank a cell", [] {
    Grid<2>(MPI_COMM_WORLD, {1, size() > 1 ? 1 : 2}, {true, true}, {0, size() > 1 ? 0 : 3});
  });
  expect_refused("has none", [] { Grid<2>(MPI_COMM_WORLD, {0, 5}, {true, true}); });
  expect_refused("leave ranks without cells", [] {
    Grid<2>(MPI_COMM_WORLD, {std::vector<std::ptrdiff_t>(static_cast<std::size_t>(size()), 0), {3}},
            {true, true});
  });
  expect_refused("is not one of", [] {
    Grid<2>(MPI_COMM_WORLD, {99, 99}, {true, true}, {size() + 1, 1});
  });
}

TEST_F(HaloMisuse, BlocksNarrowerThanTheHalo) {
  const Grid<2> grid(MPI_COMM_WORLD, {2 * size(), 9}, {true, true}, {size(), 1});
  Cells<double, 2> cells(grid, 3, 1, row_major_layout<3>());
  expect_refused("narrower than the halo", [&] {
    Halo<2>(queue_type, lane_.address(), grid, {3, Pattern::node, Sends::standard},
            cells.one_component());
  });
}

TEST_F(HaloMisuse, OneRankAloneIsWrong) {
  const auto view = cells_.one_component();
  const std::ptrdiff_t more = rank() == size() - 1 ? 1 : 0;
  const View<double, 2> longer(view.data_handle(), {view.extent(0), view.extent(1) + more},
                               {view.stride(0) + more, 1});
  expect_refused("found by rank " + std::to_string(size() - 1),
                 [&] { Halo<2>(queue_type, lane_.address(), grid_, Options(), longer); });
  if (size() == 1) return;
  expect_refused("the ranks disagree", [&] {
    Halo<2>(queue_type, lane_.address(), grid_,
            {rank() == 0 ? 0 : 1, rank() == 0 ? Pattern::face : Pattern::node},
            rank() == 0
                ? View<double, 2>(view.data_handle(), {view.extent(0) - 2, view.extent(1) - 2},
                                  {view.stride(0), 1})
                : view);
  });
  expect_refused("the ranks disagree", [] {
    Grid<2>(MPI_COMM_WORLD, {40 + rank(), 40}, {true, true}, {1, size()});
  });
}

TEST_F(HaloMisuse, ArraysOfAnotherShape) {
  const auto view = cells_.one_component();
  const View<double, 2> overlapping(view.data_handle(), {view.extent(0), view.extent(1)}, {1, 1});
  expect_refused("overlap",
                 [&] { Halo<2>(queue_type, lane_.address(), grid_, Options(), overlapping); });
  expect_refused("is negative", [&] { Halo<2>(queue_type, lane_.address(), grid_, {-1}, view); });
  expect_refused("at most 16", [&] {
    Halo<2>(queue_type, lane_.address(), grid_, Options(), view, view, view, view, view, view, view,
            view, view, view, view, view, view, view, view, view, view);
  });
}

// Nothing of that size exists; only its shape is looked at.
TEST_F(HaloMisuse, MessagesBeyondWhatMpiCounts) {
  const std::ptrdiff_t cells = std::ptrdiff_t{1} << 32;
  const Grid<2> grid(MPI_COMM_WORLD, {size(), cells}, {true, true}, {size(), 1});
  const auto view = halo::row_major<2>(static_cast<double*>(nullptr), {3, cells + 2});
  expect_refused("is longer than",
                 [&] { Halo<2>(queue_type, lane_.address(), grid, Options(), view); });
}

TEST_F(HaloMisuse, ArraysInAnotherOrderThanAtConstruction) {
  Cells<float, 2> floats(grid_, 1, 1, row_major_layout<3>());
  Cells<float, 2> columns(grid_, 1, 2, column_major_layout<3>());
  Halo<2> halo(queue_type, lane_.address(), grid_, Options(), cells_.one_component(), floats.view(),
               columns.view());
  expect_refused("give the arrays in the same order", [&] {
    halo.enqueue_gather(floats.view(), cells_.one_component(), columns.view());
  });
  expect_refused("give the arrays in the same order", [&] {
    halo.enqueue_gather(cells_.one_component(), columns.view(), floats.view());
  });
  expect_refused("2 arrays were given to a halo of 3",
                 [&] { halo.enqueue_scatter(halo::Sum(), cells_.one_component(), floats.view()); });
  const View<float, 3> null(
      nullptr, {floats.view().extent(0), floats.view().extent(1), 1},
      {floats.view().stride(0), floats.view().stride(1), floats.view().stride(2)});
  expect_refused("null pointer",
                 [&] { halo.enqueue_gather(cells_.one_component(), null, columns.view()); });
  halo.enqueue_gather(cells_.one_component(), floats.view(), columns.view());
  halo.synchronize();
}

}  // namespace
}  // namespace penstock::test
