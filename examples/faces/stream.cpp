// SPDX-License-Identifier: Apache-2.0
// The stream drives the messages: pack, one start, the sums inside beside it, one wait, unpack, and the host waits once
// at the end. Receives have two sets of buffers: while one is unpacked the other is already started.
#include <algorithm>
#include <array>
#include <penstock/penstock.hpp>

#include "faces/side_buffers.hpp"
#include "faces/variant.hpp"

namespace penstock::faces {
namespace {

// One set of buffers, and the persistent requests on it.
struct MessageSet {
  MessageSet(const Setting& setting, Mode mode, int number) : out(make(setting)), in(make(setting)) {
    for (const int direction : setting.grid.neighbours())
      requests.add(recv_init(in.message(direction), setting.grid.rank_at(direction),
                             tag_of(opposite(direction), number), MPI_COMM_WORLD));
    for (const int direction : setting.grid.neighbours())
      requests.add(send_init(out.message(direction), setting.grid.rank_at(direction), tag_of(direction, number),
                             MPI_COMM_WORLD, mode));
  }

  static SideBuffers make(const Setting& setting) {
    return SideBuffers(setting.grid.block(), [&](std::size_t bytes) {
      return examples::allocate(setting.options.device, examples::Use::messages, bytes);
    });
  }
  std::span<MPI_Request> receives() { return requests.all().first(requests.size() / 2); }
  std::span<MPI_Request> sends() { return requests.all().last(requests.size() / 2); }

  SideBuffers out;
  SideBuffers in;
  Requests requests;
};

// Handles of requests that are started together.
std::vector<MPI_Request> joined(std::initializer_list<std::span<MPI_Request>> parts) {
  std::vector<MPI_Request> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

class StreamVariant : public Variant {
 public:
  StreamVariant(const Setting& setting, Mode mode)
      : setting_(setting),
        lane_(examples::make_lane(setting.options.device, examples::Comm::stream)),
        sets_{MessageSet(setting, mode, 0), MessageSet(setting, mode, 1)} {
    std::vector<MPI_Request> all = joined({sets_[0].requests.all(), sets_[1].requests.all()});
    match(all);
    for (std::size_t i = 0; i < 2; ++i) {
      pack_[i] = [this, i] { setting_.kernels.pack(*lane_, sets_[i].out.sides()); };
      unpack_[i] = [this, i] { setting_.kernels.unpack(*lane_, sets_[i].in.sides()); };
    }
    sum_inside_ = [this] { setting_.kernels.sum_inside(*lane_); };
  }

  std::string transport() const override {
    return sets_[0].requests.size() == 0 ? "none" : sets_[0].requests[0].transport();
  }
  examples::Lane& lane() override { return *lane_; }

 protected:
  static std::size_t set_of(int share) { return static_cast<std::size_t>(share % 2); }
  MessageSet& set(int share) { return sets_[set_of(share)]; }

  // What comes before the start of a share's messages, and what comes behind it.
  void begin(int share) {
    if (setting_.with_compute) lane_->fork();
    lane_->launch(pack_[set_of(share)]);
    if (setting_.with_compute && lane_->runs_beside()) lane_->launch_beside(sum_inside_);
  }
  void end(int share) {
    if (setting_.with_compute && !lane_->runs_beside()) lane_->launch(sum_inside_);
    lane_->queue().wait(set(share).requests.all());
    lane_->launch(unpack_[set_of(share)]);
    if (setting_.with_compute) lane_->join();
  }

  const Setting setting_;
  const std::unique_ptr<examples::Lane> lane_;

 private:
  std::array<MessageSet, 2> sets_;
  std::array<examples::Lane::Kernel, 2> pack_;
  std::array<examples::Lane::Kernel, 2> unpack_;
  examples::Lane::Kernel sum_inside_;
};

// One start a share: its sends, and the receives of the next share.
class StandardSends : public StreamVariant {
 public:
  explicit StandardSends(const Setting& setting) : StreamVariant(setting, Mode::standard) {
    for (int i = 0; i < 2; ++i) next_[set_of(i)] = joined({set(i + 1).receives(), set(i).sends()});
    first_ = joined({set(0).receives(), set(1).receives(), set(0).sends()});
  }

  void prepare(int) override {}
  void run(int shares) override {
    enqueue(shares);
    lane_->synchronize();
  }

 protected:
  // All that is started has its wait.
  void enqueue(int shares) {
    for (int share = 0; share < shares; ++share) {
      begin(share);
      lane_->queue().start(to_start(share, shares));
      end(share);
    }
  }

 private:
  std::span<MPI_Request> to_start(int share, int shares) {
    const bool is_last = share + 1 == shares;
    if (share == 0) return is_last ? set(0).requests.all() : std::span<MPI_Request>(first_);
    return is_last ? set(share).sends() : std::span<MPI_Request>(next_[set_of(share)]);
  }

  std::vector<MPI_Request> first_;
  std::array<std::vector<MPI_Request>, 2> next_;
};

// Why the receive of every ready send has been started:
//   1. A rank starts the receives of share k + 2 when it has unpacked those of share k, and so, in the order of its
//      stream, before it sends the messages of share k + 1.
//   2. A rank sends the messages of share k + 2 after it has waited for those of share k + 1. Neighbours exchange in
//      both directions at every share, so by 1 these prove that the receives of share k + 2 are started there.
//   3. Shares 0 and 1 have no such messages before them: prepare() starts their receives, and a barrier follows.
class ReadySends final : public StreamVariant {
 public:
  explicit ReadySends(const Setting& setting) : StreamVariant(setting, Mode::ready) {}

  void prepare(int shares) override {
    for (int share = 0; share < std::min(shares, 2); ++share) lane_->queue().start(set(share).receives());
    lane_->settle();
  }

  void run(int shares) override {
    for (int share = 0; share < shares; ++share) {
      begin(share);
      lane_->queue().start(set(share).sends());
      end(share);
      if (share + 2 < shares) lane_->queue().start(set(share).receives());
    }
    lane_->synchronize();
  }
};

// Some shares are captured, and replayed as often as it takes.
class Graph final : public StandardSends {
 public:
  Graph(const Setting& setting, int shares) : StandardSends(setting), in_graph_(largest_part(shares)) {
    graph_ = lane_->capture([this] { enqueue(in_graph_); });
  }

  void run(int shares) override {
    for (int share = 0; share < shares; share += in_graph_) graph_->launch();
    lane_->synchronize();
  }

 private:
  // A graph of thousands of kernels begins late.
  static int largest_part(int shares) {
    int part = std::min(shares, 20);
    while (shares % part != 0) --part;
    return part;
  }

  int in_graph_;
  std::unique_ptr<examples::Replay> graph_;
};

}  // namespace

std::unique_ptr<Variant> make_stream(const Setting& setting) {
  return std::make_unique<StandardSends>(setting);
}

std::unique_ptr<Variant> make_stream_ready(const Setting& setting) {
  return std::make_unique<ReadySends>(setting);
}

std::unique_ptr<Variant> make_graph(const Setting& setting, int shares) {
  return std::make_unique<Graph>(setting, shares);
}

}  // namespace penstock::faces
