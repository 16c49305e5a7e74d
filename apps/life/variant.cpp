// SPDX-License-Identifier: Apache-2.0
#include "variant.hpp"

#include <algorithm>

namespace penstock::life {
namespace {

using apps::Comm;

// The arrays take turns, so a graph that is launched again holds an even number of steps; one that
// holds all steps of a round is launched once, from the first array on.
int steps_in_graph(int steps) {
  return std::min(steps, 10);
}

}  // namespace

Variant::Variant(Comm comm, const apps::Options& options, const halo::Grid<2>& grid)
    : comm_(comm),
      lane_(apps::make_lane(options.device, comm)),
      board_(block_of(grid, grid.rank()), static_cast<int>(grid.cells()[1]), options.device,
             *lane_),
      ghosts_(comm, options, *lane_, grid, board_.cells(0)) {}

std::string Variant::name() const {
  switch (comm_) {
    case Comm::mpi:
      return "MPI persistent requests";
    case Comm::mpi_waitany:
      return "MPI, wait for any";
    case Comm::stream:
      return "stream, standard send";
    case Comm::stream_ready:
      return "stream, ready send";
    default:
      return "stream, graph";
  }
}

Duration Variant::play(const Grid& first, int steps) {
  board_.load(first);
  if (comm_ == Comm::graph && graph_ == nullptr) capture(steps);
  if (lane_->host_stream() != PST_STREAM_NULL) return play_gated(steps);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = tool::now_us();
  run(steps);
  const double enqueued = tool::now_us();
  ghosts_.synchronize();
  lane_->synchronize();
  return {tool::now_us() - begin, apps::is_host_driven(comm_) ? 0 : enqueued - begin};
}

// Everything is enqueued before any of it runs, and the time is the stream's own.
Duration Variant::play_gated(int steps) {
  const StreamView stream(lane_->host_stream());
  const double enqueue_begin = tool::now_us();
  gate_.enqueue(stream);
  begin_.enqueue(stream);
  run(steps);
  end_.enqueue(stream);
  const double enqueue_us = tool::now_us() - enqueue_begin;
  MPI_Barrier(MPI_COMM_WORLD);
  gate_.open();
  ghosts_.synchronize();
  return {end_.us() - begin_.us(), enqueue_us};
}

std::vector<std::uint64_t> Variant::watch(const Grid& first, int steps) {
  board_.load(first);
  board_.begin_census(steps);
  watched_ = true;
  graph_.reset();
  if (comm_ == Comm::graph) capture(steps);
  run(steps);
  ghosts_.synchronize();
  lane_->synchronize();
  watched_ = false;
  graph_.reset();
  return board_.census();
}

void Variant::capture(int steps) {
  graph_ = lane_->capture([this, steps] { enqueue(0, steps_in_graph(steps)); });
}

void Variant::run(int steps) {
  int done = 0;
  if (graph_ != nullptr) {
    const int part = steps_in_graph(steps);
    for (; done + part <= steps; done += part) graph_->launch();
  }
  enqueue(done, steps);
}

void Variant::enqueue(int first, int end) {
  for (int generation = first; generation < end; ++generation) {
    ghosts_.fill(board_.cells(generation));
    board_.step(generation);
    if (watched_) board_.count(generation + 1);
  }
}

}  // namespace penstock::life
