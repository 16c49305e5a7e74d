// SPDX-License-Identifier: Apache-2.0
#include "side.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>

#include "kernels.hpp"
#include "measurement.hpp"
#include "support/statistics.hpp"

namespace penstock::bench {
namespace {

constexpr int trips_in_graph = 20;

// From the first byte to the last one.
std::span<std::byte> all_of(const std::vector<Message>& messages) {
  return {messages.front().bytes.data(),
          messages.back().bytes.data() + messages.back().bytes.size()};
}

int in_graphs(int trips) {
  return std::max(trips / trips_in_graph, 1) * trips_in_graph;
}

}  // namespace

Side::Side(std::string name, std::unique_ptr<Exchange> exchange, const Traffic& traffic,
           const Options& options)
    : name_(std::move(name)),
      exchange_(std::move(exchange)),
      several_pairs_(traffic.shape == Traffic::Shape::there_and_back && traffic.ranks > 2),
      stream_(traffic.stream) {
  if (options.check) {
    add_checks(traffic);
  } else if (options.pack) {
    add_packing();
  }
  if (!options.graph || !exchange_->on_stream()) return;
  graph_.emplace(stream_, [this] { enqueue(trips_in_graph); });
  if (!options.check && !options.pack) blocks_ = graph_->most_blocks();
}

void Side::enqueue(int trips) {
  for (int i = 0; i < trips; ++i) exchange_->round(i == 0, i + 1 == trips);
}

void Side::run(int trips) {
  if (graph_) {
    for (int i = 0; i < in_graphs(trips) / trips_in_graph; ++i) graph_->launch();
  } else {
    enqueue(trips);
  }
  CHECK_CUDA(cudaStreamSynchronize(stream_));
}

void Side::run_round(int trips) {
  run(std::max(trips / 10, 1));
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = tool::now_us();
  run(trips);
  const double us = (tool::now_us() - begin) / (graph_ ? in_graphs(trips) : trips);
  samples_.push_back(several_pairs_ ? slowest(us) : us);
}

std::optional<Side::Costs> Side::enqueue_costs() {
  if (!exchange_->on_stream() || graph_) return std::nullopt;
  constexpr int trips =
      100;  // the driver holds up who is further ahead than some thousand launches
  const auto enqueue_once = [&] {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = tool::now_us();
    enqueue(trips);
    const double us = (tool::now_us() - begin) / trips;
    CHECK_CUDA(cudaStreamSynchronize(stream_));
    return us;
  };
  std::vector<double> samples;
  for (int i = 0; i < 9; ++i) samples.push_back(enqueue_once());
  exchange_->time_calls(true);
  for (int i = 0; i < 9; ++i) enqueue_once();
  exchange_->time_calls(false);
  return Costs{tool::summarize(samples).median, exchange_->costs()};
}

// One kernel for all messages before they are sent, and one for all when they have come.
void Side::add_packing() {
  const auto out = all_of(exchange_->sent());
  const auto in = all_of(exchange_->received());
  scratch_.emplace(std::max(out.size(), in.size()));
  exchange_->before_send = [out, this] {
    enqueue_copy(stream_, out.data(), scratch_->data(), out.size());
  };
  exchange_->after_receive = [in, this] {
    enqueue_copy(stream_, scratch_->data(), in.data(), in.size());
  };
}

// What a message holds depends on who sends it to whom, and on how many this pair has had before.
void Side::add_checks(const Traffic& traffic) {
  tallies_.emplace(static_cast<std::size_t>(traffic.ranks) * sizeof(CheckTally));
  const auto self = static_cast<unsigned>(traffic.rank);
  const auto ranks = static_cast<unsigned>(traffic.ranks);
  const auto tally_of = [this](int peer) {
    return reinterpret_cast<CheckTally*>(tallies_->data()) + peer;
  };
  exchange_->before_send = [=, this] {
    for (const Message& message : exchange_->sent())
      enqueue_fill(stream_, message.bytes.data(), message.bytes.size(),
                   self * ranks + static_cast<unsigned>(message.peer), tally_of(message.peer));
  };
  exchange_->after_receive = [=, this] {
    for (const Message& message : exchange_->received())
      enqueue_check(stream_, message.bytes.data(), message.bytes.size(),
                    static_cast<unsigned>(message.peer) * ranks + self, tally_of(message.peer));
  };
}

void Side::require_right(std::size_t bytes) const {
  if (!tallies_) return;
  std::vector<CheckTally> tallies(tallies_->bytes() / sizeof(CheckTally));
  CHECK_CUDA(
      cudaMemcpy(tallies.data(), tallies_->data(), tallies_->bytes(), cudaMemcpyDeviceToHost));
  CheckTally sum{};
  for (const CheckTally& tally : tallies) {
    sum.checked += tally.checked;
    sum.wrong_bytes += tally.wrong_bytes;
  }
  if (sum.checked == 0 || sum.wrong_bytes != 0)
    throw std::runtime_error(
        fmt::format("check failed: {}, messages of {} bytes: {} wrong bytes in {} messages", name_,
                    bytes, sum.wrong_bytes, sum.checked));
}

}  // namespace penstock::bench
