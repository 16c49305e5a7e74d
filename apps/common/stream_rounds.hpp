// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "common/exchange.hpp"

namespace penstock::apps {

// What a round enqueues around its messages where the stream drives them: packing before their
// start, what is inside beside them, unpacking behind their wait. There are two sets of buffers:
// while one is unpacked the other may already be received into, and packed into on the way. Where a
// variant has one set for either direction, both sets are that one.
class StreamRounds : public Exchange {
 public:
  StreamRounds(const Options& options, Work& work, Comm comm);
  Lane& lane() override { return *lane_; }
  void run(int rounds) override {
    enqueue(rounds);
    lane_->synchronize();
  }

 protected:
  // All that is started has its wait.
  virtual void enqueue(int rounds) = 0;
  static std::size_t set_of(int round) { return static_cast<std::size_t>(round % 2); }
  virtual const Sides& out(std::size_t set) const = 0;
  virtual const Sides& in(std::size_t set) const = 0;
  const std::vector<Neighbour>& neighbours() const { return work_.neighbours(); }

  // Around all rounds: what is inside has an order of its own beside them.
  void fork() {
    if (work_.has_inside()) lane_->fork();
  }
  void join() {
    if (work_.has_inside()) lane_->join();
  }
  // The steps of a round, in this order; the messages are started before the second one, and waited
  // for before the third one.
  void pack(int round);
  void compute_inside() {
    if (work_.has_inside()) lane_->launch_beside(inside_);
  }
  void unpack(int round, int rounds);
  void finish_round();

  const std::unique_ptr<Lane> lane_;

 private:
  Work& work_;
  Lane::Kernel begin_;
  std::array<Lane::Kernel, 2> pack_;
  Lane::Kernel inside_;
  std::array<Lane::Kernel, 2> unpack_;
  std::array<Lane::Kernel, 2> unpack_and_pack_;
  Lane::Kernel end_;
};

}  // namespace penstock::apps
