// SPDX-License-Identifier: Apache-2.0
// MPI with persistent requests: made once, started together in each round.
#include <array>
#include <penstock/penstock.hpp>

#include "common/mpi_rounds.hpp"

namespace penstock::apps {
namespace {

class MpiPersistentExchange final : public MpiWaitallRounds {
 public:
  MpiPersistentExchange(const Options& options, Work& work)
      : MpiWaitallRounds(Comm::mpi_persistent, options, work) {
    for (int set = 0; set < 2; ++set)
      for (int message = 0; message < buffers_.count(); ++message) {
        const Neighbour& each = buffers_.neighbour(message);
        const auto index = static_cast<std::size_t>(set);
        sends_[index].add(send_init(buffers_.outgoing(set, message), each.rank,
                                    tag_of(each.direction, 0), MPI_COMM_WORLD));
        receives_[index].add(recv_init(buffers_.incoming(set, message), each.rank,
                                       tag_of(opposite(each.direction), 0), MPI_COMM_WORLD));
      }
  }

 private:
  using Sets = std::array<Requests, 2>;

  void post_receives(int set) override { start(receives_, set); }
  void send(int set) override { start(sends_, set); }
  void wait_for_receives(int set) override { wait(receives_, set); }
  void wait_for_sends(int set) override { wait(sends_, set); }

  void start(Sets& requests, int set) const {
    MPI_Startall(buffers_.count(), requests[static_cast<std::size_t>(set)].all().data());
  }
  void wait(Sets& requests, int set) const {
    MPI_Waitall(buffers_.count(), requests[static_cast<std::size_t>(set)].all().data(),
                MPI_STATUSES_IGNORE);
  }

  Sets sends_;
  Sets receives_;
};

}  // namespace

std::unique_ptr<Exchange> make_mpi_persistent_exchange(const Options& options, Work& work) {
  return std::make_unique<MpiPersistentExchange>(options, work);
}

}  // namespace penstock::apps
