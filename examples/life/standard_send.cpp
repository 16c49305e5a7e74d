// SPDX-License-Identifier: Apache-2.0
#include "halo.hpp"
#include "stream_clock.hpp"
#include "variant.hpp"

namespace penstock::life {
namespace {

class StandardSend final : public Variant {
 public:
  StandardSend(const Decomposition& decomposition, int rank, const Board& board)
      : queue_(stream_), halo_(board), requests_(halo_, decomposition, rank, Mode::standard) {
    match(requests_.all());
  }

  const char* name() const override { return "stream, standard send"; }
  std::string transport() const override { return requests_.transport(); }

  Duration play(Board& board, int steps) override {
    halo_.pack(board);
    auto compute = [&] {
      halo_.unpack(board);
      board.step();
      halo_.pack(board);
    };
    const double enqueue_begin = tool::now_us();
    gate_.enqueue(stream_);
    begin_.enqueue(stream_);
    for (int step = 0; step < steps; ++step) {
      queue_.start(requests_.all());
      queue_.wait(requests_.all());
      stream_.launch(std::ref(compute));
    }
    end_.enqueue(stream_);
    const double enqueue_us = tool::now_us() - enqueue_begin;
    MPI_Barrier(MPI_COMM_WORLD);
    gate_.open();
    queue_.synchronize();
    return {end_.us() - begin_.us(), enqueue_us};
  }

 private:
  Stream stream_;
  Queue queue_;
  Halo halo_;
  HaloRequests requests_;
  tool::Gate gate_;
  tool::Stamp begin_;
  tool::Stamp end_;
};

}  // namespace

std::unique_ptr<Variant> make_standard_send(const Decomposition& decomposition, int rank, const Board& board) {
  return std::make_unique<StandardSend>(decomposition, rank, board);
}

}  // namespace penstock::life
