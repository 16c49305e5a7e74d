// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "halo.hpp"
#include "stream_clock.hpp"
#include "variant.hpp"

namespace penstock::life {
namespace {

// Why the receive of every ready send has been started (all in the order of one stream per rank; step k uses
// set k mod 2):
//   1. The stream's program of step k is: start sends(k); wait for receives(k) and sends(k); unpack, compute, pack into
//      the other set; start receives(k+2). So a rank starts receives(k+2) before it sends message k+1.
//   2. A rank sends message k+2 after it has waited for message k+1 of the same neighbour. Halos are exchanged in both
//      directions between the same two ranks at every step, so by 1 that message proves that receives(k+2) are started
//      there.
//   3. Steps 0 and 1 have no such message before them. Their receives are started first, the host waits until its
//      stream has done so, and the barrier tells everybody that all ranks have.
// The receives must not share a buffer with what is still being unpacked: that is why there are two sets.
class ReadySend final : public Variant {
 public:
  ReadySend(const Decomposition& decomposition, int rank, const Board& board)
      : queue_(stream_), sets_{Set(decomposition, rank, board, 0), Set(decomposition, rank, board, 1)} {
    for (Set& set : sets_) match(set.requests.all());
  }

  const char* name() const override { return "stream, ready send"; }
  std::string transport() const override { return sets_[0].requests.transport(); }

  Duration play(Board& board, int steps) override {
    sets_[0].halo.pack(board);
    start_first_receives(steps);
    auto to_odd = [&] { compute(board, sets_[0], sets_[1]); };
    auto to_even = [&] { compute(board, sets_[1], sets_[0]); };
    const double enqueue_begin = tool::now_us();
    gate_.enqueue(stream_);
    begin_.enqueue(stream_);
    for (int step = 0; step < steps; ++step) {
      Set& set = sets_[static_cast<std::size_t>(step % 2)];
      queue_.start(set.requests.sends());
      queue_.wait(set.requests.all());
      if (step % 2 == 0) {
        stream_.launch(std::ref(to_odd));
      } else {
        stream_.launch(std::ref(to_even));
      }
      if (step + 2 < steps) queue_.start(set.requests.receives());
    }
    end_.enqueue(stream_);
    const double enqueue_us = tool::now_us() - enqueue_begin;
    MPI_Barrier(MPI_COMM_WORLD);
    gate_.open();
    queue_.synchronize();
    return {end_.us() - begin_.us(), enqueue_us};
  }

 private:
  struct Set {
    Set(const Decomposition& decomposition, int rank, const Board& board, int number)
        : halo(board), requests(halo, decomposition, rank, Mode::ready, number) {}

    Halo halo;
    HaloRequests requests;
  };

  // Point 3 above: this waits for the starts, not for the messages.
  void start_first_receives(int steps) {
    if (steps > 0) queue_.start(sets_[0].requests.receives());
    if (steps > 1) queue_.start(sets_[1].requests.receives());
    stream_.synchronize();
    MPI_Barrier(MPI_COMM_WORLD);
  }

  static void compute(Board& board, Set& received, Set& to_send) {
    received.halo.unpack(board);
    board.step();
    to_send.halo.pack(board);
  }

  Stream stream_;
  Queue queue_;
  std::array<Set, 2> sets_;
  tool::Gate gate_;
  tool::Stamp begin_;
  tool::Stamp end_;
};

}  // namespace

std::unique_ptr<Variant> make_ready_send(const Decomposition& decomposition, int rank, const Board& board) {
  return std::make_unique<ReadySend>(decomposition, rank, board);
}

}  // namespace penstock::life
