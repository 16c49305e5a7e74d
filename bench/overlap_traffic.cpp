// SPDX-License-Identifier: Apache-2.0
#include "overlap_traffic.hpp"

#include <algorithm>
#include <array>

#include "rank_grid.hpp"

namespace penstock::bench {
namespace {

class TrafficOfRank {
 public:
  TrafficOfRank(int rank, int ranks, std::size_t bytes)
      : rank_(rank), ranks_(ranks), bytes_(bytes) {
    traffic_.shape = Traffic::Shape::at_once;
    traffic_.rank = rank;
    traffic_.ranks = ranks;
  }
  Traffic take() { return std::move(traffic_); }

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
    if (rank_ != 0) return send(0);
    for (int other = 1; other < ranks_; ++other) receive(other);
  }
  void scatter() {
    if (rank_ != 0) return receive(0);
    for (int other = 1; other < ranks_; ++other) send(other);
  }
  void alltoall() {
    for (int step = 1; step < ranks_; ++step) {
      receive((rank_ + ranks_ - step) % ranks_);
      send((rank_ + step) % ranks_);
    }
  }

 private:
  void send(int to, int tag = 0) { traffic_.sends.push_back({to, bytes_, tag}); }
  void receive(int from, int tag = 0) { traffic_.receives.push_back({from, bytes_, tag}); }
  // Directions are numbers of three digits of base 3; 1 is no step in that dimension.
  static bool is_face(int direction) {
    const std::array digits{direction / 9, direction / 3 % 3, direction % 3};
    return std::ranges::count(digits, 1) == 2;
  }

  const int rank_, ranks_;
  const std::size_t bytes_;
  Traffic traffic_;
};

}  // namespace

Traffic overlap_traffic(Moves moves, int rank, int ranks, std::size_t bytes, int window) {
  TrafficOfRank traffic(rank, ranks, bytes);
  switch (moves) {
    case Moves::exchange:
      traffic.exchange();
      break;
    case Moves::window:
      traffic.window(window);
      break;
    case Moves::stencil3d:
      traffic.stencil();
      break;
    case Moves::gather:
      traffic.gather();
      break;
    case Moves::scatter:
      traffic.scatter();
      break;
    case Moves::alltoall:
      traffic.alltoall();
      break;
  }
  return traffic.take();
}

bool goes_in_pairs(Moves moves) {
  return moves == Moves::exchange || moves == Moves::window;
}

}  // namespace penstock::bench
