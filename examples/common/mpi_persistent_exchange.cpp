// SPDX-License-Identifier: Apache-2.0
// MPI with persistent requests: made once, started together in each round.
#include <array>
#include <penstock/penstock.hpp>

#include "common/mpi_buffers.hpp"

namespace penstock::examples {
namespace {

class MpiPersistentExchange final : public Exchange {
 public:
  MpiPersistentExchange(const Options& options, Work& work)
      : work_(work),
        lane_(make_lane(options.device, Comm::mpi_persistent)),
        buffers_(options, work.neighbours(), *lane_) {
    for (int message = 0; message < buffers_.count(); ++message) {
      const Neighbour& to = buffers_.neighbour(message);
      sends_.add(send_init(buffers_.outgoing(message), to.rank, tag_of(to.direction, 0), MPI_COMM_WORLD));
      for (int set = 0; set < 2; ++set)
        receives_[static_cast<std::size_t>(set)].add(
            recv_init(buffers_.incoming(set, message), to.rank, tag_of(opposite(to.direction), 0), MPI_COMM_WORLD));
    }
  }

  std::string transport() const override { return buffers_.transport(); }
  Lane& lane() override { return *lane_; }

  void run(int rounds) override {
    for (int round = 0; round < rounds; ++round) exchange(round % 2);
    lane_->synchronize();
  }

 private:
  // The receives are those of a set that was unpacked two rounds ago: the packing that the host has waited for since
  // then came behind that.
  void exchange(int set) {
    const std::span<MPI_Request> receives = receives_[static_cast<std::size_t>(set)].all();
    phases_.enter(Phase::pre_comm);
    lane_->launch([this] { work_.begin(*lane_); });
    phases_.enter(Phase::post_recv);
    MPI_Startall(buffers_.count(), receives.data());
    phases_.enter(Phase::post_send);
    pack_and_send();
    phases_.enter(Phase::wait_recv);
    MPI_Waitall(buffers_.count(), receives.data(), MPI_STATUSES_IGNORE);
    for (int message = 0; message < buffers_.count(); ++message) buffers_.stage_in(set, message);
    lane_->launch([this, set] { work_.unpack(*lane_, buffers_.in(set), nowhere); });
    phases_.enter(Phase::wait_send);
    MPI_Waitall(buffers_.count(), sends_.all().data(), MPI_STATUSES_IGNORE);
    phases_.enter(Phase::post_comm);
    if (work_.has_inside()) lane_->join();
    lane_->launch([this] { work_.end(*lane_); });
    phases_.leave();
  }

  void pack_and_send() {
    if (work_.has_inside()) lane_->fork();
    lane_->launch([this] { work_.pack(*lane_, buffers_.out(), nowhere); });
    for (int message = 0; message < buffers_.count(); ++message) buffers_.stage_out(message);
    if (lane_->runs_beside()) compute_inside();
    lane_->synchronize();
    MPI_Startall(buffers_.count(), sends_.all().data());
    if (!lane_->runs_beside()) compute_inside();
  }

  void compute_inside() {
    if (work_.has_inside()) lane_->launch_beside([this] { work_.compute_inside(*lane_); });
  }

  Work& work_;
  std::unique_ptr<Lane> lane_;
  MpiBuffers buffers_;
  Requests sends_;
  std::array<Requests, 2> receives_;
};

}  // namespace

std::unique_ptr<Exchange> make_mpi_persistent_exchange(const Options& options, Work& work) {
  return std::make_unique<MpiPersistentExchange>(options, work);
}

}  // namespace penstock::examples
