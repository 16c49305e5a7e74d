// SPDX-License-Identifier: Apache-2.0
// The stream drives the messages: pack, one start, what is inside beside it, one wait, unpack, and
// the host waits once, at the end.
#include <algorithm>
#include <array>
#include <initializer_list>
#include <penstock/penstock.hpp>

#include "common/graph_of_rounds.hpp"

namespace penstock::apps {
namespace {

// One set of buffers, and the persistent requests on it.
struct MessageSet {
  MessageSet(const Options& options, const std::vector<Neighbour>& neighbours, Mode mode,
             int number)
      : out(message_buffers(options, neighbours)), in(message_buffers(options, neighbours)) {
    for (const Neighbour& each : neighbours)
      requests.add(recv_init(in.message(each), each.rank, tag_of(opposite(each.direction), number),
                             MPI_COMM_WORLD));
    for (const Neighbour& each : neighbours)
      requests.add(send_init(out.message(each), each.rank, tag_of(each.direction, number),
                             MPI_COMM_WORLD, mode));
  }

  std::span<MPI_Request> receives() { return requests.all().first(requests.size() / 2); }
  std::span<MPI_Request> sends() { return requests.all().last(requests.size() / 2); }

  SideBuffers out;
  SideBuffers in;
  Requests requests;
};

// Handles of requests that are used together.
std::vector<MPI_Request> joined(std::initializer_list<std::span<MPI_Request>> parts) {
  std::vector<MPI_Request> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

class StreamExchange : public StreamRounds {
 public:
  StreamExchange(const Options& options, Work& work, Mode mode)
      : StreamRounds(options, work, Comm::stream),
        sets_{MessageSet(options, work.neighbours(), mode, 0),
              MessageSet(options, work.neighbours(), mode, 1)} {
    std::vector<MPI_Request> all = joined({sets_[0].requests.all(), sets_[1].requests.all()});
    match(all);
  }

  std::string transport() const override {
    return sets_[0].requests.size() == 0 ? "none" : sets_[0].requests[0].transport();
  }

 protected:
  MessageSet& set(int round) { return sets_[set_of(round)]; }
  const Sides& out(std::size_t set) const override { return sets_[set].out.sides(); }
  const Sides& in(std::size_t set) const override { return sets_[set].in.sides(); }

  // A round behind the start of its messages.
  void after_start(int round, int rounds) {
    compute_inside();
    phases_.enter(Phase::wait_recv);
    lane_->queue().wait(set(round).requests.all());
    unpack(round, rounds);
    finish_round();
  }

 private:
  std::array<MessageSet, 2> sets_;
};

// One start a round: its sends, and the receives of the next round.
class StandardSends : public StreamExchange {
 public:
  StandardSends(const Options& options, Work& work)
      : StreamExchange(options, work, Mode::standard) {
    for (int i = 0; i < 2; ++i) next_[set_of(i)] = joined({set(i + 1).receives(), set(i).sends()});
    first_ = joined({set(0).receives(), set(1).receives(), set(0).sends()});
  }

 protected:
  void enqueue(int rounds) override {
    fork();
    for (int round = 0; round < rounds; ++round) {
      pack(round);
      lane_->queue().start(to_start(round, rounds));
      after_start(round, rounds);
    }
    join();
  }

 private:
  std::span<MPI_Request> to_start(int round, int rounds) {
    const bool is_last = round + 1 == rounds;
    if (round == 0) return is_last ? set(0).requests.all() : std::span<MPI_Request>(first_);
    return is_last ? set(round).sends() : std::span<MPI_Request>(next_[set_of(round)]);
  }

  std::vector<MPI_Request> first_;
  std::array<std::vector<MPI_Request>, 2> next_;
};

// Why the receive of every ready send has been started:
//   1. A rank starts the receives of round k + 2 when it has unpacked those of round k, and so, in
//      the order of its stream, before it sends the messages of round k + 1.
//   2. A rank sends the messages of round k + 2 after it has waited for those of round k + 1.
//      Neighbours exchange in both directions in every round, so by 1 these prove that the receives
//      of round k + 2 are started there.
//   3. Rounds 0 and 1 have no such messages before them: prepare() starts their receives, and a
//      barrier follows.
class ReadySends final : public StreamExchange {
 public:
  ReadySends(const Options& options, Work& work) : StreamExchange(options, work, Mode::ready) {}

  void prepare(int rounds) override {
    for (int round = 0; round < std::min(rounds, 2); ++round)
      lane_->queue().start(set(round).receives());
    lane_->settle();
  }

 protected:
  void enqueue(int rounds) override {
    fork();
    for (int round = 0; round < rounds; ++round) {
      pack(round);
      lane_->queue().start(set(round).sends());
      after_start(round, rounds);
      if (round + 2 < rounds) lane_->queue().start(set(round).receives());
    }
    join();
  }
};

}  // namespace

std::unique_ptr<Exchange> make_stream_exchange(const Options& options, Work& work) {
  return std::make_unique<StandardSends>(options, work);
}

std::unique_ptr<Exchange> make_stream_ready_exchange(const Options& options, Work& work) {
  return std::make_unique<ReadySends>(options, work);
}

std::unique_ptr<Exchange> make_graph_exchange(const Options& options, Work& work, int rounds) {
  return std::make_unique<GraphOf<StandardSends>>(rounds, options, work);
}

}  // namespace penstock::apps
