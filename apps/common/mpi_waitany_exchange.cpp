// SPDX-License-Identifier: Apache-2.0
// MPI in a pipeline: each message leaves when it is packed, and what it brings is unpacked as soon
// as all that a region needs has come.
#include <algorithm>

#include "common/mpi_rounds.hpp"

namespace penstock::apps {
namespace {

class MpiWaitanyExchange final : public MpiRounds {
 public:
  MpiWaitanyExchange(const Options& options, Work& work)
      : MpiRounds(Comm::mpi_waitany, options, work),
        missing_(work.neighbours().size()),
        waiting_(work.neighbours().size()) {
    for (int message = 0; message < buffers_.count(); ++message)
      packed_.push_back(lane_->make_mark());
  }

 private:
  // A GPU packs on while the host sends.
  void pack_and_send(int set, bool is_packed) override {
    if (lane_->runs_beside()) {
      for (int message = 0; message < buffers_.count() && !is_packed; ++message) pack(set, message);
      compute_inside();
      for (int message = 0; message < buffers_.count(); ++message) send(set, message);
    } else {
      for (int message = 0; message < buffers_.count(); ++message) {
        if (!is_packed) pack(set, message);
        send(set, message);
      }
      compute_inside();
    }
  }

  void pack(int set, int message) {
    const int direction = buffers_.neighbour(message).direction;
    lane_->launch([this, set, direction] { work_.pack(*lane_, buffers_.out(set), direction); });
    mark_packed(set, message);
  }

  void mark_packed(int set, int message) {
    buffers_.stage_out(set, message);
    packed_[static_cast<std::size_t>(message)]->set();
  }

  void send(int set, int message) {
    packed_[static_cast<std::size_t>(message)]->await();
    buffers_.send(set, message);
  }

  void receive_and_unpack(int set, bool packs_next) override {
    count_needs();
    for (int message = buffers_.wait_for_any_receive(); message >= 0;
         message = buffers_.wait_for_any_receive()) {
      buffers_.stage_in(set, message);
      for (int region = 0; region < buffers_.count(); ++region)
        if (needs(region, message) && --missing_[static_cast<std::size_t>(region)] == 0)
          unpack_region(set, region, packs_next);
    }
  }

  void unpack_region(int set, int region, bool packs_next) {
    unpack(set, buffers_.neighbour(region).direction, packs_next);
    for (int message = 0; message < buffers_.count(); ++message)
      if (needs(region, message) && --waiting_[static_cast<std::size_t>(message)] == 0 &&
          packs_next)
        mark_packed(1 - set, message);
  }

  // Regions are numbered as the messages of their neighbours.
  bool needs(int region, int message) const {
    return work_.needs(buffers_.neighbour(region).direction, buffers_.neighbour(message).direction);
  }

  void count_needs() {
    std::fill(missing_.begin(), missing_.end(), 0);
    std::fill(waiting_.begin(), waiting_.end(), 0);
    for (int region = 0; region < buffers_.count(); ++region)
      for (int message = 0; message < buffers_.count(); ++message) {
        if (!needs(region, message)) continue;
        ++missing_[static_cast<std::size_t>(region)];
        ++waiting_[static_cast<std::size_t>(message)];
      }
  }

  std::vector<std::unique_ptr<Mark>> packed_;
  std::vector<int> missing_;  // messages that each region still needs
  std::vector<int> waiting_;  // regions that each message still waits for, to be unpacked
};

}  // namespace

std::unique_ptr<Exchange> make_mpi_waitany_exchange(const Options& options, Work& work) {
  return std::make_unique<MpiWaitanyExchange>(options, work);
}

}  // namespace penstock::apps
