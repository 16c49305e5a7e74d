// SPDX-License-Identifier: Apache-2.0
// Life without messages: patterns with known futures.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "grid.hpp"
#include "rle.hpp"
#include "support/session.hpp"

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

Grid shifted(const Grid& grid, int by) {
  Grid moved(grid.width(), grid.height());
  for (int y = 0; y < grid.height(); ++y) {
    for (int x = 0; x < grid.width(); ++x) {
      moved.set((x + by) % grid.width(), (y + by) % grid.height(), grid.row(y)[x] != 0);
    }
  }
  return moved;
}

TEST(Gliders, MoveByOneCellInFourGenerations) {
  const Grid first = gliders(40, 64);
  EXPECT_EQ(count_alive(first), 5 * 8 * 5);
  EXPECT_EQ(play_serially(first, 4), shifted(first, 1));
  EXPECT_EQ(play_serially(first, 400), shifted(first, 100));
}

TEST(Census, TellsPlacesApart) {
  const Grid first = gliders(40, 64);
  EXPECT_EQ(census(first), census(play_serially(first, 4 * 320)));
  EXPECT_NE(census(first), census(shifted(first, 1)));
  EXPECT_EQ(census(Grid(3, 3)), 0U);
}

}  // namespace
}  // namespace penstock::life
