// SPDX-License-Identifier: Apache-2.0
// MPI in a pipeline: each message leaves when it is packed, and what it brings is unpacked as soon as all that a region
// needs has come.
#include "common/mpi_buffers.hpp"

namespace penstock::examples {
namespace {

class MpiWaitanyExchange final : public Exchange {
 public:
  MpiWaitanyExchange(const Options& options, Work& work)
      : work_(work),
        lane_(make_lane(options.device, Comm::mpi_waitany)),
        buffers_(options, work.neighbours(), *lane_),
        missing_(work.neighbours().size()) {
    for (int message = 0; message < buffers_.count(); ++message) packed_.push_back(lane_->make_mark());
  }

  std::string transport() const override { return buffers_.transport(); }
  Lane& lane() override { return *lane_; }

  void run(int rounds) override {
    for (int round = 0; round < rounds; ++round) exchange(round % 2);
    lane_->synchronize();
  }

 private:
  void exchange(int set) {
    phases_.enter(Phase::pre_comm);
    lane_->launch([this] { work_.begin(*lane_); });
    phases_.enter(Phase::post_recv);
    buffers_.post_receives(set);
    phases_.enter(Phase::post_send);
    pack_and_send();
    phases_.enter(Phase::wait_recv);
    unpack_as_they_come(set);
    phases_.enter(Phase::wait_send);
    buffers_.wait_for_sends();
    phases_.enter(Phase::post_comm);
    if (work_.has_inside()) lane_->join();
    lane_->launch([this] { work_.end(*lane_); });
    phases_.leave();
  }

  // A GPU packs on while the host sends.
  void pack_and_send() {
    if (work_.has_inside()) lane_->fork();
    if (lane_->runs_beside()) {
      for (int message = 0; message < buffers_.count(); ++message) pack(message);
      compute_inside();
      for (int message = 0; message < buffers_.count(); ++message) send(message);
    } else {
      for (int message = 0; message < buffers_.count(); ++message) {
        pack(message);
        send(message);
      }
      compute_inside();
    }
  }

  void pack(int message) {
    const int direction = buffers_.neighbour(message).direction;
    lane_->launch([this, direction] { work_.pack(*lane_, buffers_.out(), direction); });
    buffers_.stage_out(message);
    packed_[static_cast<std::size_t>(message)]->set();
  }

  void send(int message) {
    packed_[static_cast<std::size_t>(message)]->await();
    buffers_.send(message);
  }

  void compute_inside() {
    if (work_.has_inside()) lane_->launch_beside([this] { work_.compute_inside(*lane_); });
  }

  void unpack_as_they_come(int set) {
    count_needs();
    for (int message = buffers_.wait_for_any_receive(); message >= 0; message = buffers_.wait_for_any_receive()) {
      buffers_.stage_in(set, message);
      for (int i = 0; i < buffers_.count(); ++i) {
        const int region = buffers_.neighbour(i).direction;
        if (!work_.needs(region, buffers_.neighbour(message).direction)) continue;
        if (--missing_[static_cast<std::size_t>(i)] == 0)
          lane_->launch([this, set, region] { work_.unpack(*lane_, buffers_.in(set), region); });
      }
    }
  }

  void count_needs() {
    for (int i = 0; i < buffers_.count(); ++i) {
      int& missing = missing_[static_cast<std::size_t>(i)];
      missing = 0;
      for (int message = 0; message < buffers_.count(); ++message)
        missing += work_.needs(buffers_.neighbour(i).direction, buffers_.neighbour(message).direction) ? 1 : 0;
    }
  }

  Work& work_;
  std::unique_ptr<Lane> lane_;
  MpiBuffers buffers_;
  std::vector<std::unique_ptr<Mark>> packed_;
  std::vector<int> missing_;  // messages that the region of each neighbour still needs
};

}  // namespace

std::unique_ptr<Exchange> make_mpi_waitany_exchange(const Options& options, Work& work) {
  return std::make_unique<MpiWaitanyExchange>(options, work);
}

}  // namespace penstock::examples
