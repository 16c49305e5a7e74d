// SPDX-License-Identifier: Apache-2.0
// Plain MPI: the host waits for the packing, sends, waits for all messages and has them unpacked.
#include "common/mpi_buffers.hpp"

namespace penstock::examples {
namespace {

class MpiExchange final : public Exchange {
 public:
  MpiExchange(const Options& options, Work& work)
      : work_(work), lane_(make_lane(options.device, Comm::mpi)), buffers_(options, work.neighbours(), *lane_) {}

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
    phases_.enter(Phase::pre_comm);
    lane_->launch([this] { work_.begin(*lane_); });
    phases_.enter(Phase::post_recv);
    buffers_.post_receives(set);
    phases_.enter(Phase::post_send);
    pack_and_send();
    phases_.enter(Phase::wait_recv);
    buffers_.wait_for_receives();
    for (int message = 0; message < buffers_.count(); ++message) buffers_.stage_in(set, message);
    lane_->launch([this, set] { work_.unpack(*lane_, buffers_.in(set), nowhere); });
    phases_.enter(Phase::wait_send);
    buffers_.wait_for_sends();
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
    for (int message = 0; message < buffers_.count(); ++message) buffers_.send(message);
    if (!lane_->runs_beside()) compute_inside();
  }

  void compute_inside() {
    if (work_.has_inside()) lane_->launch_beside([this] { work_.compute_inside(*lane_); });
  }

  Work& work_;
  std::unique_ptr<Lane> lane_;
  MpiBuffers buffers_;
};

}  // namespace

std::unique_ptr<Exchange> make_mpi_exchange(const Options& options, Work& work) {
  return std::make_unique<MpiExchange>(options, work);
}

}  // namespace penstock::examples
