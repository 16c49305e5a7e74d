// SPDX-License-Identifier: Apache-2.0
// Many exchanges back to back, every cell checked in every step, in the order of the stream.
#include "cells.hpp"
#include "halo_lane.hpp"
#include "steps.hpp"
#include "support/environment.hpp"
#include "support/rounds.hpp"
#if PENSTOCK_TEST_CUDA
#include "cuda/graph.hpp"
#endif

namespace penstock::test {
namespace {

using halo::Halo;
using halo::Options;
using halo::Pattern;
using halo::Sends;

constexpr int width = 2;

// A program of one rank.
class StepProgram {
 public:
  explicit StepProgram(Sends sends)
      : grid_(MPI_COMM_WORLD, {19, 27}, {true, true}),
        cells_(grid_, width, 1, row_major_layout<3>()),
        steps_{cells_.one_component().data_handle(),
               cells_.extents()[0],
               cells_.extents()[1],
               width,
               grid_.first()[0],
               grid_.first()[1],
               grid_.cells()[0],
               grid_.cells()[1],
               make_counts()},
        halo_(queue_type, lane_.address(), grid_, {width, Pattern::node, sends},
              cells_.one_component()) {
    enqueue_write(lane_.stream(), steps_);
  }
  ~StepProgram() {
    halo_.synchronize();
    free_counts(steps_.counts);
  }

  Stream stream() const { return lane_.stream(); }
  void enqueue_one() {
    halo_.enqueue_gather(cells_.one_component());
    enqueue_step(lane_.stream(), steps_);
  }
  void expect_good(std::uint64_t steps) {
    halo_.synchronize();
    EXPECT_EQ(steps_.counts->step, steps);
    EXPECT_EQ(steps_.counts->wrong, 0U);
  }
  void expect_no_gather_in_capture() {
    EXPECT_THROW(halo_.enqueue_gather(cells_.one_component()), Error);
  }

 private:
  HaloLane lane_;
  Grid<2> grid_;
  Cells<std::uint64_t, 2> cells_;
  Steps steps_;
  Halo<2> halo_;
};

class ManySteps : public ::testing::TestWithParam<Sends> {};

// One rank's stream is slow now and then, so that the others run ahead as far as they can.
TEST_P(ManySteps, OfWhichOneRankIsSlow) {
  constexpr int steps = fewer_rounds(1000, 4);
  StepProgram program(GetParam());
  auto random = generator(static_cast<std::uint64_t>(rank()));
  for (int step = 0; step < steps; ++step) {
    if (rank() == size() - 1 && random() % 8 == 0) enqueue_delay(program.stream(), random() % 200);
    program.enqueue_one();
    // The driver holds up a caller who is about a thousand launches ahead: so the host follows at
    // some distance.
    if (queue_type != PST_QUEUE_HOST && step % 50 == 49)
      program.expect_good(static_cast<std::uint64_t>(step) + 1);
  }
  program.expect_good(steps);
}

INSTANTIATE_TEST_SUITE_P(Sends, ManySteps, ::testing::Values(Sends::standard, Sends::ready),
                         [](const auto& sends) {
                           return sends.param == Sends::ready ? "Ready" : "Standard";
                         });

#if PENSTOCK_TEST_CUDA
// A graph of several exchanges, launched many times, between exchanges that are enqueued directly.
TEST(Graphs, HoldExchanges) {
  constexpr std::uint64_t in_graph = 3;
  constexpr std::uint64_t launches = 40;
  StepProgram program(Sends::standard);
  program.enqueue_one();
  program.expect_good(1);
  {
    Graph graph(program.stream(), [&] {
      for (std::uint64_t i = 0; i < in_graph; ++i) program.enqueue_one();
    });
    program.enqueue_one();
    for (std::uint64_t i = 0; i < launches; ++i) graph.launch();
    program.expect_good(2 + launches * in_graph);
  }
  program.enqueue_one();
  program.expect_good(3 + launches * in_graph);
}

// The receives of a halo of ready sends are open between exchanges, which a graph cannot say.
TEST(Graphs, RefuseReadySends) {
  StepProgram program(Sends::ready);
  program.enqueue_one();
  program.expect_good(1);
  cudaGraph_t graph = nullptr;
  ASSERT_CUDA(cudaStreamBeginCapture(program.stream(), cudaStreamCaptureModeThreadLocal));
  program.expect_no_gather_in_capture();
  ASSERT_CUDA(cudaStreamEndCapture(program.stream(), &graph));
  ASSERT_CUDA(cudaGraphDestroy(graph));
  program.enqueue_one();
  program.expect_good(2);
}
#endif

}  // namespace
}  // namespace penstock::test
