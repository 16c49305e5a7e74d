// SPDX-License-Identifier: Apache-2.0
#include "common/datatype_exchange.hpp"

namespace penstock::apps {
namespace {

class MpiDatatypeExchange final : public Exchange {
 public:
  MpiDatatypeExchange(const Options& options, Work& work, MessagesInPlace messages)
      : device_(options.device),
        work_(work),
        lane_(make_lane(options.device, Comm::mpi_datatype)),
        messages_(std::move(messages)),
        sends_(work.neighbours().size(), MPI_REQUEST_NULL),
        receives_(sends_) {}

  std::string transport() const override {
    return device_ == DeviceKind::gpu ? "MPI, device memory" : "MPI";
  }
  Lane& lane() override { return *lane_; }

  void run(int rounds) override {
    for (int round = 0; round < rounds; ++round) exchange();
    lane_->synchronize();
  }

 private:
  // There is one array: nothing may be received into it before the earlier work has ended.
  void exchange() {
    phases_.enter(Phase::pre_comm);
    lane_->launch([this] { work_.begin(*lane_); });
    lane_->synchronize();
    phases_.enter(Phase::post_recv);
    post_receives();
    phases_.enter(Phase::post_send);
    send();
    phases_.enter(Phase::wait_recv);
    MPI_Waitall(static_cast<int>(receives_.size()), receives_.data(), MPI_STATUSES_IGNORE);
    phases_.enter(Phase::wait_send);
    MPI_Waitall(static_cast<int>(sends_.size()), sends_.data(), MPI_STATUSES_IGNORE);
    phases_.enter(Phase::post_comm);
    lane_->launch([this] { work_.end(*lane_); });
    phases_.leave();
  }

  void post_receives() {
    for (std::size_t i = 0; i < receives_.size(); ++i) {
      const Neighbour& from = work_.neighbours()[i];
      MPI_Irecv(messages_.array, 1, messages_.received[i].type(), from.rank,
                tag_of(opposite(from.direction), 0), MPI_COMM_WORLD, &receives_[i]);
    }
  }

  void send() {
    for (std::size_t i = 0; i < sends_.size(); ++i) {
      const Neighbour& to = work_.neighbours()[i];
      MPI_Isend(messages_.array, 1, messages_.sent[i].type(), to.rank, tag_of(to.direction, 0),
                MPI_COMM_WORLD, &sends_[i]);
    }
  }

  DeviceKind device_;
  Work& work_;
  std::unique_ptr<Lane> lane_;
  MessagesInPlace messages_;
  std::vector<MPI_Request> sends_;
  std::vector<MPI_Request> receives_;
};

}  // namespace

std::unique_ptr<Exchange> make_mpi_datatype_exchange(const Options& options, Work& work,
                                                     MessagesInPlace messages) {
  return std::make_unique<MpiDatatypeExchange>(options, work, std::move(messages));
}

}  // namespace penstock::apps
