// SPDX-License-Identifier: Apache-2.0
// One-sided epochs in which packing stores straight into the neighbours' windows: no message is
// copied. There are two windows: while one is unpacked, what is packed on the way goes into the
// neighbours' other ones, which they have posted before.
#include <optional>
#include <penstock/window.hpp>
#include <vector>

#include "common/stream_rounds.hpp"
#include "common/window_targets.hpp"

namespace penstock::apps {
namespace {

// Buffers for what comes, which are a window, and where the neighbours have theirs.
struct StoredSet {
  StoredSet(const Options& options, const std::vector<Neighbour>& neighbours)
      : in(message_buffers(options, neighbours)), window(MPI_COMM_WORLD, in.all()) {
    const std::vector<MPI_Aint> displacements = target_displacements(neighbours, in);
    for (std::size_t i = 0; i < neighbours.size(); ++i)
      there.side[neighbours[i].direction] = window.remote(neighbours[i].rank) + displacements[i];
  }

  SideBuffers in;
  Window<double> window;
  Sides there{};
};

class ZeroCopyEpochs final : public StreamRounds {
 public:
  ZeroCopyEpochs(const Options& options, Work& work)
      : StreamRounds(options, work, Comm::zero_copy), group_(group_of(work.neighbours())) {
    sets_.reserve(2);
    for (int i = 0; i < 2; ++i) sets_.emplace_back(options, work.neighbours());
  }

  std::string transport() const override { return "stores"; }

 protected:
  const Sides& out(std::size_t set) const override { return sets_[set].there; }
  const Sides& in(std::size_t set) const override { return sets_[set].in.sides(); }
  // An access is open from before a round's messages are packed, which is in the round before.
  void enqueue(int rounds) override {
    fork();
    ExposureEpoch exposure = post(0);
    AccessEpoch<double> access = start(0);
    for (int round = 0; round < rounds; ++round) {
      pack(round);
      access.complete(lane_->queue());
      std::optional<ExposureEpoch> next;
      if (round + 1 < rounds) {
        next = post(round + 1);
        access = start(round + 1);
      }
      compute_inside();
      phases_.enter(Phase::wait_recv);
      exposure.wait();
      unpack(round, rounds);
      if (next) exposure = *next;
      finish_round();
    }
    join();
  }

 private:
  Window<double>& window(int round) { return sets_[set_of(round)].window; }
  ExposureEpoch post(int round) {
    phases_.enter(Phase::post_recv);
    return window(round).post(group_, lane_->queue());
  }
  AccessEpoch<double> start(int round) { return window(round).start(group_, lane_->queue()); }

  const Group group_;
  std::vector<StoredSet> sets_;
};

}  // namespace

std::unique_ptr<Exchange> make_zero_copy_exchange(const Options& options, Work& work) {
  return std::make_unique<ZeroCopyEpochs>(options, work);
}

}  // namespace penstock::apps
