// SPDX-License-Identifier: Apache-2.0
// One-sided epochs as work of the stream: what comes is put into the receiver's window. By a call
// each, or a batch a round, which a graph may hold.
#include <optional>
#include <penstock/window.hpp>
#include <vector>

#include "common/graph_of_rounds.hpp"
#include "common/window_targets.hpp"

namespace penstock::apps {
namespace {

// A set of buffers, of which those for what comes are a window.
struct WindowSet {
  WindowSet(const Options& options, const std::vector<Neighbour>& neighbours)
      : out(message_buffers(options, neighbours)),
        in(message_buffers(options, neighbours)),
        displacements(target_displacements(neighbours, in)),
        window(MPI_COMM_WORLD, in.all()) {}

  SideBuffers out;
  SideBuffers in;
  std::vector<MPI_Aint> displacements;
  Window<double> window;
};

// One window: its post stands behind the unpacking of the round before.
class StreamEpochs : public StreamRounds {
 public:
  StreamEpochs(const Options& options, Work& work, Comm comm, std::size_t windows)
      : StreamRounds(options, work, comm), group_(group_of(work.neighbours())) {
    sets_.reserve(windows);
    for (std::size_t i = 0; i < windows; ++i) sets_.emplace_back(options, work.neighbours());
  }

  std::string transport() const override { return "windows"; }

 protected:
  const Sides& out(std::size_t set) const override { return sets_[set % sets_.size()].out.sides(); }
  const Sides& in(std::size_t set) const override { return sets_[set % sets_.size()].in.sides(); }
  void enqueue(int rounds) override {
    fork();
    for (int round = 0; round < rounds; ++round) {
      phases_.enter(Phase::post_recv);
      ExposureEpoch exposure = post(round);
      pack(round);
      put_and_complete(round);
      compute_inside();
      phases_.enter(Phase::wait_recv);
      exposure.wait();
      unpack(round, rounds);
      finish_round();
    }
    join();
  }

  ExposureEpoch post(int round) { return set(round).window.post(group_, lane_->queue()); }
  void put_and_complete(int round) {
    WindowSet& each = set(round);
    auto access = each.window.start(group_);
    for (std::size_t i = 0; i < neighbours().size(); ++i)
      access.put(each.out.message(neighbours()[i]), neighbours()[i].rank, each.displacements[i]);
    access.complete(lane_->queue());
  }

 private:
  WindowSet& set(int round) { return sets_[set_of(round) % sets_.size()]; }

  const Group group_;
  std::vector<WindowSet> sets_;
};

// Two windows, one of which is posted a round ahead: so the calls of a round follow each other, and
// a batch of them is one launch.
class BatchedEpochs : public StreamEpochs {
 public:
  BatchedEpochs(const Options& options, Work& work, Comm comm)
      : StreamEpochs(options, work, comm, 2) {}

 protected:
  void enqueue(int rounds) override {
    fork();
    phases_.enter(Phase::post_recv);
    std::optional<ExposureEpoch> exposure = post(0);
    for (int round = 0; round < rounds; ++round) {
      pack(round);
      // Beside the messages, which a batch leaves no place between.
      compute_inside();
      Batch batch(lane_->queue());
      std::optional<ExposureEpoch> next;
      if (round + 1 < rounds) next = post(round + 1);
      put_and_complete(round);
      phases_.enter(Phase::wait_recv);
      exposure->wait();
      batch.end();
      exposure = next;
      unpack(round, rounds);
      finish_round();
    }
    join();
  }
};

}  // namespace

std::unique_ptr<Exchange> make_window_exchange(const Options& options, Work& work) {
  return std::make_unique<StreamEpochs>(options, work, Comm::stream_rma, 1);
}

std::unique_ptr<Exchange> make_window_batch_exchange(const Options& options, Work& work) {
  return std::make_unique<BatchedEpochs>(options, work, Comm::stream_rma_batch);
}

std::unique_ptr<Exchange> make_window_graph_exchange(const Options& options, Work& work,
                                                     int rounds) {
  return std::make_unique<GraphOf<BatchedEpochs>>(rounds, options, work, Comm::graph_rma);
}

}  // namespace penstock::apps
