// SPDX-License-Identifier: Apache-2.0
#include "cuda_side.hpp"

#include <mpi.h>

#include <algorithm>

#include "kernels.hpp"
#include "support/statistics.hpp"

namespace penstock::bench {
namespace {

constexpr int trips_in_graph = 20;

// From the first byte to the last one.
std::span<std::byte> all_of(std::span<const Message> messages) {
  return {messages.front().bytes.data(),
          messages.back().bytes.data() + messages.back().bytes.size()};
}

int in_graphs(int trips) {
  return std::max(trips / trips_in_graph, 1) * trips_in_graph;
}

}  // namespace

CudaSide::CudaSide(std::string name, std::unique_ptr<Exchange> exchange, cudaStream_t stream,
                   const Options& options)
    : Side(std::move(name)), exchange_(std::move(exchange)), stream_(stream) {
  if (options.check) {
    add_checks();
  } else if (options.pack) {
    add_packing();
  }
  if (!exchange_->on_stream()) wait_where_the_host_sends();
  if (!options.graph || !exchange_->on_stream()) return;
  graph_.emplace(stream_, [this] { enqueue(trips_in_graph); });
  if (!options.check && !options.pack) blocks_ = graph_->most_blocks();
}

void CudaSide::enqueue(int trips) {
  exchange_->make_trips(0, trips, trips);
}

void CudaSide::run(int trips) {
  if (graph_) {
    for (int i = 0; i < in_graphs(trips) / trips_in_graph; ++i) graph_->launch();
  } else {
    enqueue(trips);
  }
  CHECK_CUDA(cudaStreamSynchronize(stream_));
}

TripTime CudaSide::run_round(int trips) {
  run(std::max(trips / 10, 1));
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = tool::now_us();
  run(trips);
  return {(tool::now_us() - begin) / (graph_ ? in_graphs(trips) : trips)};
}

double CudaSide::enqueue_once() {
  // The driver holds up who is further ahead than some thousand launches.
  constexpr int trips = 100;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = tool::now_us();
  enqueue(trips);
  const double us = (tool::now_us() - begin) / trips;
  CHECK_CUDA(cudaStreamSynchronize(stream_));
  return us;
}

std::optional<CallCosts> CudaSide::call_costs() {
  if (!exchange_->on_stream() || graph_) return std::nullopt;
  std::vector<double> samples;
  for (int i = 0; i < 9; ++i) samples.push_back(enqueue_once());
  exchange_->time_calls(true);
  for (int i = 0; i < 9; ++i) enqueue_once();
  exchange_->time_calls(false);
  return CallCosts{tool::summarize(samples).median, exchange_->costs()};
}

// One kernel for all messages before they are sent, and one for all when they have come.
void CudaSide::add_packing() {
  const auto out = all_of(exchange_->sent());
  const auto in = all_of(exchange_->received());
  scratch_.emplace(device_memory(std::max(out.size(), in.size())));
  exchange_->before_send = [out, this] {
    enqueue_copy(stream_, out.data(), scratch_->data(), out.size());
  };
  exchange_->after_receive = [in, this] {
    enqueue_copy(stream_, scratch_->data(), in.data(), in.size());
  };
}

// What a message holds depends on who sends it to whom, and on how many this pair has had before.
void CudaSide::add_checks() {
  const Traffic& traffic = exchange_->traffic();
  tallies_.emplace(device_memory(static_cast<std::size_t>(traffic.ranks) * sizeof(CheckTally)));
  const auto self = static_cast<unsigned>(traffic.rank);
  const auto ranks = static_cast<unsigned>(traffic.ranks);
  const auto tally_of = [this](int peer) {
    return reinterpret_cast<CheckTally*>(tallies_->data()) + peer;
  };
  std::size_t most = 0;
  for (const Message& each : exchange_->messages()) most = std::max(most, each.part.bytes);
  scratch_.emplace(device_memory(most));
  const auto pack = exchange_->before_send, unpack = exchange_->after_receive;
  exchange_->before_send = [=, this] {
    for (const auto& [part, sends, bytes] : exchange_->sent()) {
      std::byte* const filled = part.layout.has_gaps() ? scratch_->data() : bytes.data();
      enqueue_fill(stream_, filled, part.bytes, self * ranks + static_cast<unsigned>(part.peer),
                   tally_of(part.peer));
      if (part.layout.has_gaps())
        enqueue_scatter(stream_, bytes.data(), filled, part.bytes, part.layout);
    }
    if (pack) pack();
  };
  exchange_->after_receive = [=, this] {
    for (const auto& [part, sends, bytes] : exchange_->received()) {
      std::byte* const found = part.layout.has_gaps() ? scratch_->data() : bytes.data();
      if (part.layout.has_gaps())
        enqueue_gather(stream_, found, bytes.data(), part.bytes, part.layout);
      enqueue_check(stream_, found, part.bytes, static_cast<unsigned>(part.peer) * ranks + self,
                    tally_of(part.peer));
    }
    if (unpack) unpack();
  };
}

// As programs over MPI do, which wait for the packing before they send, and enqueue the unpacking
// when the messages have come. What was enqueued behind the last receives has ended then as well,
// so that these buffers may be received into again.
void CudaSide::wait_where_the_host_sends() {
  if (!exchange_->before_send) return;
  exchange_->before_send = [enqueue_work = exchange_->before_send, this] {
    enqueue_work();
    CHECK_CUDA(cudaStreamSynchronize(stream_));
  };
}

CheckResult CudaSide::checked() const {
  CheckResult sum;
  if (!tallies_) return sum;
  std::vector<CheckTally> tallies(tallies_->bytes() / sizeof(CheckTally));
  CHECK_CUDA(
      cudaMemcpy(tallies.data(), tallies_->data(), tallies_->bytes(), cudaMemcpyDeviceToHost));
  for (const CheckTally& tally : tallies) {
    sum.messages += tally.checked;
    sum.wrong_bytes += tally.wrong_bytes;
  }
  return sum;
}

}  // namespace penstock::bench
