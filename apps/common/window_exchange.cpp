// SPDX-License-Identifier: Apache-2.0
// One-sided epochs: what comes is put into the receiver's window. By MPI the host opens and closes
// the epochs of each round, and waits for the packing in between; by Penstock they are work of the
// stream, by a call each, or a batch a round, which a graph may hold.
#include <algorithm>
#include <array>
#include <optional>
#include <penstock/window.hpp>
#include <vector>

#include "common/mpi_rounds.hpp"
#include "common/stream_rounds.hpp"

namespace penstock::apps {
namespace {

// Where each message lies in the window of the neighbour that it goes to, in values.
std::vector<MPI_Aint> places_of_messages(const std::vector<Neighbour>& neighbours,
                                         const SideBuffers& in) {
  std::vector<MPI_Aint> places(neighbours.size()), own(neighbours.size());
  std::vector<MPI_Request> requests(2 * neighbours.size());
  for (std::size_t i = 0; i < neighbours.size(); ++i) {
    const auto& [direction, rank, values] = neighbours[i];
    own[i] = in.message(neighbours[i]).data() - in.all().data();
    MPI_Irecv(&places[i], 1, MPI_AINT, rank, tag_of(direction, 0), MPI_COMM_WORLD,
              &requests[2 * i]);
    MPI_Isend(&own[i], 1, MPI_AINT, rank, tag_of(opposite(direction), 0), MPI_COMM_WORLD,
              &requests[2 * i + 1]);
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  return places;
}

Group group_of(const std::vector<Neighbour>& neighbours) {
  std::vector<int> ranks;
  for (const Neighbour& each : neighbours) ranks.push_back(each.rank);
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return {MPI_COMM_WORLD, ranks};
}

// A set of buffers, of which those for what comes are a window.
struct WindowSet {
  WindowSet(const Options& options, const std::vector<Neighbour>& neighbours)
      : out(make(options, neighbours)),
        in(make(options, neighbours)),
        places(places_of_messages(neighbours, in)),
        window(MPI_COMM_WORLD, in.all()) {}

  static SideBuffers make(const Options& options, const std::vector<Neighbour>& neighbours) {
    return {neighbours,
            [&](std::size_t bytes) { return allocate(options.device, Use::messages, bytes); }};
  }

  SideBuffers out;
  SideBuffers in;
  std::vector<MPI_Aint> places;
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
  void run(int rounds) override {
    enqueue(rounds);
    lane_->synchronize();
  }

 protected:
  const Sides& out(std::size_t set) const override { return sets_[set % sets_.size()].out.sides(); }
  const Sides& in(std::size_t set) const override { return sets_[set % sets_.size()].in.sides(); }
  // All that is opened is closed.
  virtual void enqueue(int rounds) {
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
      access.put(each.out.message(neighbours()[i]), neighbours()[i].rank, each.places[i]);
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

class GraphOfEpochs final : public BatchedEpochs {
 public:
  GraphOfEpochs(const Options& options, Work& work, int rounds)
      : BatchedEpochs(options, work, Comm::graph_rma),
        graph_(*lane_, rounds, [this](int some) { enqueue(some); }) {}

  void run(int rounds) override {
    graph_.run(rounds);
    lane_->synchronize();
  }

 private:
  GraphOfRounds graph_;
};

// MPI's windows lie in memory of the host, which a GPU's kernels reach as well.
class MpiEpochs final : public MpiWaitallRounds {
 public:
  MpiEpochs(const Options& options, Work& work)
      : MpiWaitallRounds(Comm::mpi_rma, in_host_memory(options), work),
        group_(group_of(work.neighbours())) {
    for (int set = 0; set < 2; ++set) {
      places_[set] = places_of_messages(work.neighbours(), buffers_.incoming(set));
      const std::span<double> all = buffers_.incoming(set).all();
      MPI_Win_create(all.data(), static_cast<MPI_Aint>(all.size_bytes()), sizeof(double),
                     MPI_INFO_NULL, MPI_COMM_WORLD, &windows_[set]);
    }
  }
  ~MpiEpochs() override {
    for (MPI_Win& window : windows_) MPI_Win_free(&window);
  }
  std::string transport() const override { return buffers_.transport(); }

 private:
  static Options in_host_memory(Options options) {
    options.pinned = options.device == DeviceKind::gpu;
    return options;
  }
  void post_receives(int set) override { MPI_Win_post(group_.get(), 0, windows_[set]); }
  void send(int set) override {
    MPI_Win_start(group_.get(), 0, windows_[set]);
    for (int i = 0; i < buffers_.count(); ++i) {
      const std::span<double> from = buffers_.outgoing(set, i);
      MPI_Put(from.data(), static_cast<int>(from.size()), MPI_DOUBLE, buffers_.neighbour(i).rank,
              places_[set][static_cast<std::size_t>(i)], static_cast<int>(from.size()), MPI_DOUBLE,
              windows_[set]);
    }
    MPI_Win_complete(windows_[set]);
  }
  void wait_for_receives(int set) override { MPI_Win_wait(windows_[set]); }
  void wait_for_sends(int /*set*/) override {}

  const Group group_;
  std::array<std::vector<MPI_Aint>, 2> places_;
  std::array<MPI_Win, 2> windows_{MPI_WIN_NULL, MPI_WIN_NULL};
};

}  // namespace

std::unique_ptr<Exchange> make_mpi_window_exchange(const Options& options, Work& work) {
  return std::make_unique<MpiEpochs>(options, work);
}

std::unique_ptr<Exchange> make_window_exchange(const Options& options, Work& work) {
  return std::make_unique<StreamEpochs>(options, work, Comm::stream_rma, 1);
}

std::unique_ptr<Exchange> make_window_batch_exchange(const Options& options, Work& work) {
  return std::make_unique<BatchedEpochs>(options, work, Comm::stream_rma_batch);
}

std::unique_ptr<Exchange> make_window_graph_exchange(const Options& options, Work& work,
                                                     int rounds) {
  return std::make_unique<GraphOfEpochs>(options, work, rounds);
}

}  // namespace penstock::apps
