// SPDX-License-Identifier: Apache-2.0
// Life without messages: patterns with known futures, and blocks whose halos are copied by hand against the serial run.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "board.hpp"
#include "decomposition.hpp"
#include "grid.hpp"
#include "rle.hpp"
#include "session.hpp"

namespace penstock::life {
namespace {

Grid load(const std::string& name) {
  std::ifstream file(std::string(LIFE_PATTERNS) + "/" + name + ".rle");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return parse_rle(text, name);
}

TEST(Patterns, PulsarHasPeriodThree) {
  const Grid first = place(load("pulsar"), 17, 17);
  EXPECT_EQ(count_alive(first), 48);
  EXPECT_NE(play_serially(first, 1), first);
  EXPECT_EQ(play_serially(first, 3), first);
}

TEST(Patterns, GosperGunEmitsAGliderEvery30Generations) {
  const Grid first = place(load("gosper_gun"), 200, 200);
  EXPECT_EQ(count_alive(first), 36);
  EXPECT_EQ(count_alive(play_serially(first, 30)), 41);
  EXPECT_EQ(count_alive(play_serially(first, 60)), 46);
}

TEST(Patterns, RPentominoSettlesAt116Cells) {
  EXPECT_EQ(count_alive(play_serially(place(load("r_pentomino"), 900, 900), 1103)), 116);
}

TEST(Patterns, AcornHasSevenCells) {
  EXPECT_EQ(count_alive(load("acorn")), 7);
}

TEST(Rle, OldRuleNameAndCarriageReturnsAreRead) {
  EXPECT_EQ(count_alive(parse_rle("x = 3, y = 2, rule = 23/3\r\nbo$\r\n3o!", "text")), 4);
}

Grid random_grid(int width, int height) {
  std::mt19937 random(1);
  Grid grid(width, height);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) grid.set(x, y, (random() & 1U) != 0);
  }
  return grid;
}

// The ghost cells of every board, from the edges of its neighbours.
void exchange(const Decomposition& decomposition, std::vector<Board>& boards) {
  const std::vector<Board> before = boards;
  for (std::size_t rank = 0; rank < boards.size(); ++rank) {
    for (std::size_t i = 0; i < directions.size(); ++i) {
      const Board& peer =
          before[static_cast<std::size_t>(decomposition.neighbour(static_cast<int>(rank), directions[i]))];
      const Direction back = directions[static_cast<std::size_t>(opposite(static_cast<int>(i)))];
      const Region edge = peer.edge(back);
      const Region ghost = boards[rank].ghost(directions[i]);
      ASSERT_EQ(edge.cells(), ghost.cells());
      std::vector<std::uint8_t> message(edge.cells());
      peer.copy_out(edge, message.data());
      boards[rank].copy_in(ghost, message.data());
    }
  }
}

Grid play_in_blocks(const Grid& first, int ranks, int generations) {
  const Decomposition decomposition(ranks, first.width(), first.height());
  std::vector<Board> boards;
  for (int rank = 0; rank < ranks; ++rank) boards.emplace_back(decomposition.block(rank)).load(first);
  for (int generation = 0; generation < generations; ++generation) {
    exchange(decomposition, boards);
    for (Board& board : boards) board.step();
  }
  Grid last(first.width(), first.height());
  for (const Board& board : boards) board.store(last);
  return last;
}

TEST(Blocks, AnyDecompositionEqualsTheSerialRun) {
  for (const auto& [width, height] : {std::pair{19, 27}, {27, 19}, {7, 7}, {2, 9}, {64, 33}}) {
    const Grid first = random_grid(width, height);
    const Grid expected = play_serially(first, 50);
    for (const int ranks : {1, 2, 3, 4, 5, 6, 7}) {
      EXPECT_EQ(play_in_blocks(first, ranks, 50), expected) << width << " x " << height << " on " << ranks;
    }
  }
}

TEST(Blocks, AGridThatLeavesARankWithoutCellsIsRefused) {
  EXPECT_THROW(Decomposition(7, 3, 3), tool::UserError);
}

}  // namespace
}  // namespace penstock::life
