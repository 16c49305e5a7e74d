// SPDX-License-Identifier: Apache-2.0
#include "halo.hpp"
#include "stream_clock.hpp"
#include "variant.hpp"

namespace penstock::life {
namespace {

class PlainMpi final : public Variant {
 public:
  PlainMpi(const Decomposition& decomposition, int rank, const Board& board)
      : halo_(board), requests_(halo_, decomposition, rank, Mode::standard) {}

  const char* name() const override { return "MPI persistent requests"; }
  std::string transport() const override { return "MPI"; }

  Duration play(Board& board, int steps) override {
    halo_.pack(board);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = tool::now_us();
    for (int step = 0; step < steps; ++step) {
      MPI_Startall(static_cast<int>(requests_.all().size()), requests_.all().data());
      MPI_Waitall(static_cast<int>(requests_.all().size()), requests_.all().data(), MPI_STATUSES_IGNORE);
      halo_.unpack(board);
      board.step();
      halo_.pack(board);
    }
    return {tool::now_us() - begin, 0};
  }

 private:
  Halo halo_;
  HaloRequests requests_;
};

}  // namespace

std::unique_ptr<Variant> make_plain_mpi(const Decomposition& decomposition, int rank, const Board& board) {
  return std::make_unique<PlainMpi>(decomposition, rank, board);
}

}  // namespace penstock::life
