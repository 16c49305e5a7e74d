// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "board.hpp"
#include "common/ghosts.hpp"
#include "support/stream_clock.hpp"

namespace penstock::life {

// How long some steps took on this rank, in us: until the last was done, and what enqueueing them
// cost the host.
struct Duration {
  double steps_us;
  double enqueue_us;
};

// One way to exchange the halos, with a lane, arrays and requests of its own. All variants pack,
// unpack and compute alike.
class Variant {
 public:
  // Collective.
  Variant(apps::Comm comm, const apps::Options& options, const halo::Grid<2>& grid);

  std::string name() const;
  apps::Comm comm() const noexcept { return comm_; }
  // What carries the messages.
  std::string transport() const { return ghosts_.transport(); }

  // Plays `steps` generations, as many in each call. Collective: all ranks begin together.
  Duration play(const Grid& first, int steps);
  // The same, and the sum of each generation, as far as this rank's cells give to it (see
  // Board::count). Not timed.
  std::vector<std::uint64_t> watch(const Grid& first, int steps);
  const Board& board() const noexcept { return board_; }

 private:
  void capture(int steps);
  void run(int steps);
  void enqueue(int first, int end);
  Duration play_gated(int steps);

  apps::Comm comm_;
  std::unique_ptr<apps::Lane> lane_;
  Board board_;
  apps::Ghosts<2> ghosts_;
  bool watched_ = false;
  std::unique_ptr<apps::Replay> graph_;
  tool::Gate gate_;
  tool::Stamp begin_;
  tool::Stamp end_;
};

}  // namespace penstock::life
