// SPDX-License-Identifier: Apache-2.0
// MPI in a pipeline: each message leaves when it is packed, and what it brings is unpacked as soon as all that a region
// needs has come.
#include "faces/mpi_buffers.hpp"

namespace penstock::faces {
namespace {

// Whether the points shared with the neighbours of `region` need the message of `direction`: it is a part of it.
bool needs(int region, int direction) {
  for (int d = 0; d < 3; ++d)
    if (part_of(direction, d) != 0 && part_of(direction, d) != part_of(region, d)) return false;
  return true;
}

class MpiWaitany final : public Variant {
 public:
  explicit MpiWaitany(const Setting& setting)
      : setting_(setting),
        lane_(examples::make_lane(setting.options.device, examples::Comm::mpi_waitany)),
        buffers_(setting, *lane_),
        missing_(setting.grid.neighbours().size()) {
    for (int message = 0; message < buffers_.count(); ++message) packed_.push_back(lane_->make_mark());
  }

  std::string transport() const override { return buffers_.transport(); }
  examples::Lane& lane() override { return *lane_; }
  void prepare(int) override {}

  void run(int shares) override {
    for (int share = 0; share < shares; ++share) exchange(share % 2);
    lane_->synchronize();
  }

 private:
  void exchange(int set) {
    buffers_.post_receives(set);
    if (setting_.with_compute) lane_->fork();
    if (lane_->runs_beside()) {
      for (int message = 0; message < buffers_.count(); ++message) pack(message);
      compute();
      for (int message = 0; message < buffers_.count(); ++message) send(message);
    } else {
      for (int message = 0; message < buffers_.count(); ++message) {
        pack(message);
        send(message);
      }
      compute();
    }
    unpack_as_they_come(set);
    buffers_.wait_for_sends();
    if (setting_.with_compute) lane_->join();
  }

  void pack(int message) {
    const int direction = direction_of(message);
    lane_->launch([this, direction] { setting_.kernels.pack(*lane_, buffers_.out(), direction); });
    buffers_.stage_out(message);
    packed_[static_cast<std::size_t>(message)]->set();
  }

  void send(int message) {
    packed_[static_cast<std::size_t>(message)]->await();
    buffers_.send(message);
  }

  void compute() {
    if (setting_.with_compute) lane_->launch_beside([this] { setting_.kernels.sum_inside(*lane_); });
  }

  void unpack_as_they_come(int set) {
    count_needs();
    for (int message = buffers_.wait_for_any_receive(); message >= 0; message = buffers_.wait_for_any_receive()) {
      buffers_.stage_in(set, message);
      for (std::size_t i = 0; i < missing_.size(); ++i) {
        const int region = setting_.grid.neighbours()[i];
        if (needs(region, direction_of(message)) && --missing_[i] == 0)
          lane_->launch([this, set, region] { setting_.kernels.unpack(*lane_, buffers_.in(set), region); });
      }
    }
  }

  void count_needs() {
    for (std::size_t i = 0; i < missing_.size(); ++i) {
      missing_[i] = 0;
      for (const int direction : setting_.grid.neighbours())
        missing_[i] += needs(setting_.grid.neighbours()[i], direction) ? 1 : 0;
    }
  }

  int direction_of(int message) const { return setting_.grid.neighbours()[static_cast<std::size_t>(message)]; }

  Setting setting_;
  std::unique_ptr<examples::Lane> lane_;
  MpiBuffers buffers_;
  std::vector<std::unique_ptr<examples::Mark>> packed_;
  std::vector<int> missing_;  // messages that the region of each neighbour still needs
};

}  // namespace

std::unique_ptr<Variant> make_mpi_waitany(const Setting& setting) {
  return std::make_unique<MpiWaitany>(setting);
}

}  // namespace penstock::faces
