// SPDX-License-Identifier: Apache-2.0
#include "side.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>

#include "cuda/kernels.hpp"
#include "support/clock.hpp"
#include "support/statistics.hpp"

namespace penstock::bench::floor {
namespace {

constexpr int trips_in_graph = 20;
constexpr std::uint32_t cells_a_block = 256;
constexpr std::uint32_t most_line_blocks = 32;
constexpr std::size_t bytes_a_block = 16 * 1024;

std::uint32_t cells_of(const Setup& setup) {
  return static_cast<std::uint32_t>(setup.bytes / cell_payload);
}

std::uint32_t blocks_of(const Setup& setup) {
  if (setup.way != Way::push)
    return std::clamp((cells_of(setup) + cells_a_block - 1) / cells_a_block, 1u, most_line_blocks);
  return static_cast<std::uint32_t>(
      std::clamp<std::size_t>((setup.bytes + bytes_a_block - 1) / bytes_a_block, 1, most_blocks));
}

// Of each block: in cells, or in bytes.
std::size_t share_of(const Setup& setup) {
  const std::size_t blocks = blocks_of(setup);
  if (setup.way != Way::push) return (cells_of(setup) + blocks - 1) / blocks;
  return ((setup.bytes + blocks - 1) / blocks + 127) / 128 * 128;
}

Shape shape_of(const Setup& setup) {
  if (setup.way == Way::push) return {blocks_of(setup), most_threads};
  const auto threads = static_cast<unsigned>((share_of(setup) + 31) / 32 * 32);
  return {blocks_of(setup), std::min(threads, most_threads)};
}

bool is_wide(const Setup& setup) {
  return share_of(setup) > shape_of(setup).threads;
}

const void* kernel_of(const Setup& setup, Role role) {
  return setup.way == Way::push ? push_kernel(role, setup.handover)
                                : lines_kernel(role, setup.step, setup.handover, is_wide(setup));
}

}  // namespace

Side::Side(const Setup& setup, int rank, cudaStream_t stream)
    : setup_(setup),
      rank_(rank),
      stream_(stream),
      ends_(setup.way, setup.bytes, rank),
      outbox_(device_memory(setup.bytes)),
      tally_(device_memory(sizeof(CheckTally))),
      sends_(kernel_of(setup, Role::send)),
      waits_(kernel_of(setup, Role::wait)),
      trips_(trip_kernel(is_wide(setup))),
      shape_(shape_of(setup)),
      wait_shape_(setup.way != Way::push ? shape_ : Shape{1, blocks_of(setup)}) {
  CHECK_CUDA(cudaDeviceSynchronize());
  if (setup.graph) graph_.emplace(stream, [this] { enqueue(trips_in_graph); });
  MPI_Barrier(MPI_COMM_WORLD);
}

void Side::enqueue(int trips) {
  if (setup_.way == Way::trip) return enqueue_trips(trips);
  if (setup_.way == Way::inside) {
    trip(epoch_ + 1, epoch_ + 1, trips, rank_ == 0);
    epoch_ += static_cast<Word64>(trips);
    return;
  }
  for (int i = 0; i < trips; ++i) {
    ++epoch_;
    if (rank_ == 0) send();
    wait();
    if (rank_ != 0) send();
  }
}

// Who answers sends with the wait for the next message.
void Side::enqueue_trips(int trips) {
  for (int i = 0; i < trips; ++i) {
    ++epoch_;
    if (rank_ != 0 && i == 0) wait();
    if (rank_ == 0)
      trip(epoch_, epoch_, 1, true);
    else if (i + 1 < trips)
      trip(epoch_, epoch_ + 1, 1, true);
    else
      send();
  }
}

Least Side::lines(Cell* ring, std::byte* buffer, Word64 epoch) const {
  return {ring, buffer, cells_of(setup_), static_cast<std::uint32_t>(share_of(setup_)), epoch};
}

void Side::trip(Word64 out, Word64 in, int trips, bool leads) {
  Trip argument{lines(ends_.peer().ring, outbox_.data(), out),
                lines(ends_.own().ring, ends_.own().inbox, in), static_cast<std::uint32_t>(trips),
                leads};
  trips_.launch(shape_, stream_, setup_.dependent, setup_.caller, &argument);
}

void Side::send() {
  if (setup_.check)
    enqueue_fill(stream_, outbox_.data(), setup_.bytes, static_cast<unsigned>(rank_),
                 reinterpret_cast<CheckTally*>(tally_.data()));
  if (setup_.way == Way::push) {
    Push push{ends_.peer().inbox, outbox_.data(),           setup_.bytes,
              share_of(setup_),   ends_.peer().words->flag, epoch_};
    return sends_.launch(shape_, stream_, setup_.dependent, setup_.caller, &push);
  }
  // A kernel that takes less reads the beginning.
  Descriptor descriptor{lines(ends_.peer().ring, outbox_.data(), epoch_), ends_.own().words,
                        ends_.peer().words, abort_.on_device()};
  sends_.launch(shape_, stream_, setup_.dependent, setup_.caller, &descriptor);
}

void Side::wait() {
  if (setup_.way == Way::push) {
    Push push{nullptr, nullptr, 0, 0, ends_.own().words->flag, epoch_};
    waits_.launch(wait_shape_, stream_, setup_.dependent, setup_.caller, &push);
  } else {
    Descriptor descriptor{lines(ends_.own().ring, ends_.own().inbox, epoch_), ends_.own().words,
                          ends_.peer().words, abort_.on_device()};
    waits_.launch(wait_shape_, stream_, setup_.dependent, setup_.caller, &descriptor);
  }
  if (setup_.check)
    enqueue_check(stream_, ends_.own().inbox, setup_.bytes, static_cast<unsigned>(1 - rank_),
                  reinterpret_cast<CheckTally*>(tally_.data()));
}

void Side::run(int trips) {
  if (graph_) {
    for (int i = 0; i < std::max(trips / trips_in_graph, 1); ++i) graph_->launch();
  } else {
    enqueue(trips);
  }
  CHECK_CUDA(cudaStreamSynchronize(stream_));
}

void Side::run_round(int trips) {
  run(std::max(trips / 10, 1));
  const int made = graph_ ? std::max(trips / trips_in_graph, 1) * trips_in_graph : trips;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = tool::now_us();
  run(trips);
  samples_.push_back((tool::now_us() - begin) / made / 2);
}

double Side::enqueue_cost() {
  // The driver holds up who is further ahead than some thousand launches.
  constexpr int trips = 100;
  std::vector<double> costs;
  for (int i = 0; i < 9; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = tool::now_us();
    enqueue(trips);
    costs.push_back((tool::now_us() - begin) / trips);
    CHECK_CUDA(cudaStreamSynchronize(stream_));
  }
  return tool::summarize(costs).median;
}

void Side::require_right() const {
  if (!setup_.check) return;
  CheckTally tally{};
  CHECK_CUDA(cudaMemcpy(&tally, tally_.data(), sizeof tally, cudaMemcpyDeviceToHost));
  if (tally.checked == 0 || tally.wrong_bytes != 0)
    throw std::runtime_error(
        fmt::format("check failed: floor by {}, {} bytes: {} wrong bytes in {} messages",
                    way_names[static_cast<std::size_t>(setup_.way)], setup_.bytes,
                    tally.wrong_bytes, tally.checked));
}

}  // namespace penstock::bench::floor
