// SPDX-License-Identifier: Apache-2.0
// Gathers and scatters of every kind, every cell checked.
#include "cells.hpp"
#include "expected.hpp"
#include "halo_lane.hpp"
#include "support/environment.hpp"
#include "support/rounds.hpp"
#if PENSTOCK_TEST_CUDA
#include "support/cuda/expect.hpp"
#endif

namespace penstock::test {
namespace {

using halo::Halo;
using halo::MpiHalo;
using halo::Options;
using halo::Sends;

// Arrays of several scalars on one grid, and what becomes of them.
template <std::size_t N>
class Fields {
 public:
  using Layouts = std::array<Layout<N + 1>, 5>;
  Fields(const Grid<N>& grid, const Options& options, const Layouts& layouts,
         std::ptrdiff_t components)
      : doubles_(grid, options.width, 1, layouts[0]),
        floats_(grid, options.width, components, layouts[1]),
        ints_(grid, options.width, 2, layouts[2]),
        bytes_(grid, options.width, 3, layouts[3]),
        triples_(grid, options.width, components, layouts[4]),
        expected_doubles_(grid, options, 0),
        expected_floats_(grid, options, 1),
        expected_ints_(grid, options, 2),
        expected_bytes_(grid, options, 3),
        expected_triples_(grid, options, 4) {}

  template <class Use>
  void with_all(Use use) {
    use(doubles_.one_component(), floats_.view(), ints_.view(), bytes_.view(), triples_.view());
  }
  template <class Use>
  void with_numbers(Use use) {
    use(doubles_.one_component(), floats_.view(), ints_.view(), bytes_.view());
  }

  void fill() {
    each([](auto& cells, const auto& expected) {
      cells.fill([&](const auto& index) { return expected.before(index); });
    });
  }
  void expect_gathered() {
    each([](auto& cells, const auto& expected) {
      cells.expect([&](const auto& index) { return expected.after_gather(index); }, "gather");
    });
  }
  void expect_scattered(Reduction reduction, bool triples) {
    each([&](auto& cells, const auto& expected) {
      if (!triples && static_cast<void*>(&cells) == &triples_) return;
      cells.expect([&](const auto& index) { return expected.after_scatter(index, reduction); },
                   "scatter");
    });
  }

 private:
  template <class Visit>
  void each(Visit visit) {
    visit(doubles_, expected_doubles_);
    visit(floats_, expected_floats_);
    visit(ints_, expected_ints_);
    visit(bytes_, expected_bytes_);
    visit(triples_, expected_triples_);
  }

  Cells<double, N> doubles_;
  Cells<float, N> floats_;
  Cells<std::int32_t, N> ints_;
  Cells<std::uint8_t, N> bytes_;
  Cells<Triple, N> triples_;
  Expected<double, N> expected_doubles_;
  Expected<float, N> expected_floats_;
  Expected<std::int32_t, N> expected_ints_;
  Expected<std::uint8_t, N> expected_bytes_;
  Expected<Triple, N> expected_triples_;
};

template <std::size_t N>
void gather_and_scatter(const Grid<N>& grid, const Options& options,
                        const typename Fields<N>::Layouts& layouts, std::ptrdiff_t components) {
  HaloLane lane;
  Fields<N> fields(grid, options, layouts, components);
  fields.with_all([&](auto... views) {
    Halo<N> halo(queue_type, lane.address(), grid, options, views...);
    // Three times: a halo of ready sends uses both sets of buffers, and the first one again.
    for (int round = 0; round < 3; ++round) {
      fields.fill();
      halo.enqueue_gather(views...);
      halo.synchronize();
      fields.expect_gathered();
      fields.fill();
      halo.enqueue_scatter(halo::Replace(), views...);
      halo.synchronize();
      fields.expect_scattered(Reduction::replace, true);
    }
  });
  fields.with_numbers([&](auto... views) {
    Halo<N> halo(queue_type, lane.address(), grid, options, views...);
    const auto scatter = [&](auto op) {
      fields.fill();
      halo.enqueue_scatter(op, views...);
      halo.synchronize();
      fields.expect_scattered(op.value, false);
    };
    scatter(halo::Sum());
    scatter(halo::Min());
    scatter(halo::Max());
  });
}

template <std::size_t N>
typename Fields<N>::Layouts all_of(const Layout<N + 1>& layout) {
  typename Fields<N>::Layouts layouts;
  layouts.fill(layout);
  return layouts;
}

// Odd sizes on purpose.
TEST(Halo, GathersAndScattersIn2D) {
  int width = 0;
  for (const Index<2> cells : {Index<2>{19, 27}, Index<2>{27, 19}, Index<2>{12, 16}}) {
    ++width;
    for (const bool periodic : {true, false}) {
      const Grid<2> grid(MPI_COMM_WORLD, cells, {periodic, periodic != (width == 2)});
      const Options options{width, width == 3 ? Pattern::face : Pattern::node,
                            periodic ? Sends::ready : Sends::standard};
      gather_and_scatter<2>(
          grid, options, all_of<2>(periodic ? row_major_layout<3>() : column_major_layout<3>()), 2);
    }
  }
}

TEST(Halo, GathersAndScattersIn3D) {
  const Index<3> cells = sanitized && size() <= 2 ? Index<3>{7, 9, 8} : Index<3>{9, 13, 12};
  for (const int width : {1, 2, 3}) {
    const Grid<3> grid(MPI_COMM_WORLD, cells, {true, width != 2, width == 1});
    const Options options{width, width == 2 ? Pattern::face : Pattern::node,
                          width == 1 ? Sends::ready : Sends::standard};
    gather_and_scatter<3>(
        grid, options, all_of<3>(width == 3 ? column_major_layout<4>() : row_major_layout<4>()), 1);
  }
}

// With one rank along a periodic dimension a rank is its own neighbour, with two it has one
// neighbour twice.
TEST(Halo, AnyRankGridMayBeAsked) {
  const std::ptrdiff_t ranks = size();
  for (const Index<2> shape : {Index<2>{ranks, 1}, Index<2>{1, ranks}}) {
    const Grid<2> grid(MPI_COMM_WORLD, {13, 17}, {true, true}, shape);
    ASSERT_EQ(grid.ranks(), shape);
    gather_and_scatter<2>(grid, {2, Pattern::node, Sends::standard},
                          all_of<2>(row_major_layout<3>()), 1);
  }
}

// A block as narrow as the halo is: each of its cells is near both edges.
TEST(Halo, BlocksMayBeAsNarrowAsTheHalo) {
  const std::ptrdiff_t ranks = size();
  const Grid<2> grid(MPI_COMM_WORLD, {2 * ranks, 3}, {true, true}, {ranks, 1});
  gather_and_scatter<2>(grid, {2, Pattern::node, Sends::ready}, all_of<2>(row_major_layout<3>()),
                        1);
}

TEST(Halo, WhatIsEmptyIsExchangedToo) {
  const Grid<2> grid(MPI_COMM_WORLD, {8, 9}, {true, false});
  gather_and_scatter<2>(grid, {0, Pattern::node, Sends::standard}, all_of<2>(row_major_layout<3>()),
                        1);
  gather_and_scatter<2>(grid, {1, Pattern::node, Sends::ready}, all_of<2>(row_major_layout<3>()),
                        0);
  HaloLane lane;
  Halo<2> none(queue_type, lane.address(), grid, {1});
  none.enqueue_gather();
  none.synchronize();
  EXPECT_EQ(none.transport(), "none");
}

template <std::size_t N>
std::array<std::vector<std::ptrdiff_t>, N> random_cuts(std::mt19937_64& random, int width) {
  std::array<std::vector<std::ptrdiff_t>, N> cuts;
  std::ptrdiff_t left = size();
  for (std::size_t d = 0; d < N; ++d) {
    std::ptrdiff_t blocks = left;
    while (d + 1 < N && (left % blocks != 0 || (blocks > 1 && random() % 2 == 0))) --blocks;
    left /= blocks;
    for (std::ptrdiff_t i = 0; i < blocks; ++i) {
      cuts[d].push_back(std::max(width, 1) +
                        static_cast<std::ptrdiff_t>(random() % (N == 2 ? 20 : 7)));
    }
  }
  std::shuffle(cuts.begin(), cuts.end(), random);
  return cuts;
}

template <std::size_t N>
void random_exchange(std::mt19937_64& random) {
  Options options;
  options.width = static_cast<int>(random() % 4);
  options.pattern = random() % 2 == 0 ? Pattern::node : Pattern::face;
  options.sends = random() % 2 == 0 ? Sends::standard : Sends::ready;
  std::array<bool, N> periodic;
  for (bool& one : periodic) one = random() % 2 == 0;
  const Grid<N> grid(MPI_COMM_WORLD, random_cuts<N>(random, options.width), periodic);
  typename Fields<N>::Layouts layouts;
  for (Layout<N + 1>& layout : layouts) {
    layout = row_major_layout<N + 1>();
    std::shuffle(layout.order.begin(), layout.order.end(), random);
    layout.padding = static_cast<std::ptrdiff_t>(random() % 3);
  }
  gather_and_scatter<N>(grid, options, layouts, 1 + static_cast<std::ptrdiff_t>(random() % 3));
}

TEST(Halo, RandomShapes) {
  auto random = generator();
  for (int i = 0; i < (long_run() ? 200 : fewer_rounds(4, 2)); ++i) {
    SCOPED_TRACE("shape " + std::to_string(i));
    random_exchange<2>(random);
    random_exchange<3>(random);
  }
}

// MPI alone, the same cells; on a GPU through pinned memory, which every MPI takes.
TEST(Halo, DrivenByTheHost) {
  const bool on_gpu = queue_type != PST_QUEUE_HOST;
  HaloLane lane;
  const Grid<3> grid(MPI_COMM_WORLD, {8, 9, 11}, {true, false, true});
  const Options options{2, Pattern::node, Sends::standard, true};
  for (const halo::Waits waits : {halo::Waits::all, halo::Waits::any}) {
    Fields<3> fields(grid, options, all_of<3>(row_major_layout<4>()), 2);
    fields.with_all([&](auto... views) {
      MpiHalo<3> halo(queue_type, on_gpu ? lane.address() : nullptr, grid, options, waits,
                      views...);
      EXPECT_EQ(halo.memory(), on_gpu ? "pinned memory" : "host memory");
      for (int round = 0; round < 3; ++round) {
        fields.fill();
        halo.gather(views...);
        synchronize(lane.stream());
        fields.expect_gathered();
        fields.fill();
        halo.scatter(halo::Replace(), views...);
        synchronize(lane.stream());
        fields.expect_scattered(Reduction::replace, true);
      }
    });
  }
}

// Several arrays may be exchanged through one halo, as long as they have its shape.
TEST(Halo, ArraysMayLieElsewhere) {
  HaloLane lane;
  const Grid<2> grid(MPI_COMM_WORLD, {19, 27}, {true, true});
  const Options options;
  Cells<double, 2> first(grid, 1, 1, row_major_layout<3>());
  Cells<double, 2> second(grid, 1, 1, row_major_layout<3>());
  const Expected<double, 2> expected(grid, options, 0);
  Halo<2> halo(queue_type, lane.address(), grid, options, first.view());
  for (auto* cells : {&first, &second, &first}) {
    cells->fill([&](const auto& index) { return expected.before(index); });
    halo.enqueue_gather(cells->view());
    halo.synchronize();
    cells->expect([&](const auto& index) { return expected.after_gather(index); }, "gather");
  }
}

#if PENSTOCK_TEST_CUDA
int current_device() {
  int device = -1;
  EXPECT_CUDA(cudaGetDevice(&device));
  return device;
}

// Of all calls, from the constructor to the destructor; the caller's device stays current.
TEST(Halo, AnotherDeviceMayBeCurrent) {
  int devices = 0;
  EXPECT_CUDA(cudaGetDeviceCount(&devices));
  if (devices < 2) GTEST_SKIP() << "needs two GPUs";
  const int own = current_device();
  const int other = (own + 1) % devices;
  HaloLane lane;
  const Grid<2> grid(MPI_COMM_WORLD, {19, 27}, {true, true});
  const Options options;
  Cells<double, 2> cells(grid, 1, 1, row_major_layout<3>());
  const Expected<double, 2> expected(grid, options, 0);
  for (const Sends sends : {Sends::standard, Sends::ready}) {
    EXPECT_CUDA(cudaSetDevice(other));
    Halo<2> halo(queue_type, lane.address(), grid, {1, Pattern::node, sends}, cells.view());
    MpiHalo<2> by_mpi(queue_type, lane.address(), grid, {1, Pattern::node, Sends::standard, true},
                      halo::Waits::any, cells.view());
    const auto check = [&](auto&& gather) {
      EXPECT_CUDA(cudaSetDevice(own));
      cells.fill([&](const auto& index) { return expected.before(index); });
      EXPECT_CUDA(cudaSetDevice(other));
      gather();
      halo.synchronize();
      EXPECT_EQ(current_device(), other);
      cells.expect([&](const auto& index) { return expected.after_gather(index); }, "gather");
    };
    check([&] { halo.enqueue_gather(cells.view()); });
    check([&] { by_mpi.gather(cells.view()); });
    check([&] { halo.enqueue_gather(cells.view()); });
  }
  EXPECT_EQ(current_device(), other);
  EXPECT_CUDA(cudaSetDevice(own));
}
#endif

}  // namespace
}  // namespace penstock::test
