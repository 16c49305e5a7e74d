// SPDX-License-Identifier: Apache-2.0
#include "overlap_pattern.hpp"

#include <algorithm>
#include <array>

#include "rank_grid.hpp"

namespace penstock::bench {
namespace {

class Messages {
 public:
  Messages(int rank, int ranks) : rank_(rank), ranks_(ranks) {}

  void receive(int from, int tag = 0) { all_.push_back({from, tag, false}); }
  void send(int to, int tag = 0) { all_.push_back({to, tag, true}); }
  std::vector<PatternMessage> take() {
    std::ranges::stable_partition(all_, [](const PatternMessage& each) { return !each.sends; });
    return std::move(all_);
  }

  void exchange() {
    receive(rank_ ^ 1);
    send(rank_ ^ 1);
  }
  void window(int messages) {
    for (int i = 0; i < messages; ++i) rank_ % 2 == 0 ? send(rank_ + 1, i) : receive(rank_ - 1, i);
  }
  // With few ranks in a dimension a rank is its own neighbour, or another's twice.
  void stencil() {
    for (const HaloMessage& each : halo_messages(rank_, ranks_, 1)) {
      if (!is_face(each.direction)) continue;
      receive(each.from, each.direction);
      send(each.to, each.direction);
    }
  }
  void gather() {
    for (int other = 1; other < ranks_; ++other)
      if (rank_ == 0) receive(other);
    if (rank_ != 0) send(0);
  }
  void scatter() {
    for (int other = 1; other < ranks_; ++other)
      if (rank_ == 0) send(other);
    if (rank_ != 0) receive(0);
  }
  void alltoall() {
    for (int step = 1; step < ranks_; ++step) {
      receive((rank_ + ranks_ - step) % ranks_);
      send((rank_ + step) % ranks_);
    }
  }

 private:
  // Directions are numbers of three digits of base 3; 1 is no step in that dimension.
  static bool is_face(int direction) {
    const std::array digits{direction / 9, direction / 3 % 3, direction % 3};
    return std::ranges::count(digits, 1) == 2;
  }

  const int rank_, ranks_;
  std::vector<PatternMessage> all_;
};

}  // namespace

std::vector<PatternMessage> pattern_messages(Pattern pattern, int rank, int ranks, int window) {
  Messages messages(rank, ranks);
  switch (pattern) {
    case Pattern::exchange:
      messages.exchange();
      break;
    case Pattern::window:
      messages.window(window);
      break;
    case Pattern::stencil3d:
      messages.stencil();
      break;
    case Pattern::gather:
      messages.gather();
      break;
    case Pattern::scatter:
      messages.scatter();
      break;
    case Pattern::alltoall:
      messages.alltoall();
      break;
  }
  return messages.take();
}

bool goes_in_pairs(Pattern pattern) {
  return pattern == Pattern::exchange || pattern == Pattern::window;
}

}  // namespace penstock::bench
