// SPDX-License-Identifier: Apache-2.0
// Plain MPI: the host waits for the packing, sends, waits for all messages and has them unpacked.
#include "faces/mpi_buffers.hpp"

namespace penstock::faces {
namespace {

class Mpi final : public Variant {
 public:
  explicit Mpi(const Setting& setting)
      : setting_(setting),
        lane_(examples::make_lane(setting.options.device, examples::Comm::mpi)),
        buffers_(setting, *lane_) {}

  std::string transport() const override { return buffers_.transport(); }
  examples::Lane& lane() override { return *lane_; }
  void prepare(int) override {}

  void run(int shares) override {
    for (int share = 0; share < shares; ++share) exchange(share % 2);
    lane_->synchronize();
  }

 private:
  // The receives are those of a set that was unpacked two shares ago: the packing that the host waited for since then
  // came behind that.
  void exchange(int set) {
    buffers_.post_receives(set);
    if (setting_.with_compute) lane_->fork();
    lane_->launch([this] { setting_.kernels.pack(*lane_, buffers_.out()); });
    for (int message = 0; message < buffers_.count(); ++message) buffers_.stage_out(message);
    if (lane_->runs_beside()) compute();
    lane_->synchronize();
    for (int message = 0; message < buffers_.count(); ++message) buffers_.send(message);
    if (!lane_->runs_beside()) compute();
    buffers_.wait_for_receives();
    for (int message = 0; message < buffers_.count(); ++message) buffers_.stage_in(set, message);
    lane_->launch([this, set] { setting_.kernels.unpack(*lane_, buffers_.in(set)); });
    buffers_.wait_for_sends();
    if (setting_.with_compute) lane_->join();
  }

  void compute() {
    if (setting_.with_compute) lane_->launch_beside([this] { setting_.kernels.sum_inside(*lane_); });
  }

  Setting setting_;
  std::unique_ptr<examples::Lane> lane_;
  MpiBuffers buffers_;
};

}  // namespace

std::unique_ptr<Variant> make_mpi(const Setting& setting) {
  return std::make_unique<Mpi>(setting);
}

}  // namespace penstock::faces
