// SPDX-License-Identifier: Apache-2.0
#include "enqueued/staging_ring.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <vector>

namespace penstock::enqueued {
namespace {

constexpr std::size_t line = StagingRing::alignment;

TEST(StagingRing, APieceIsWholeAndNoTwoAreAtOnePlace) {
  StagingRing ring(10 * line);
  EXPECT_EQ(ring.take(line), 0U);
  EXPECT_EQ(ring.take(1), line);
  EXPECT_EQ(ring.take(0), 2 * line);
  EXPECT_EQ(ring.take(line + 1), 3 * line);
  EXPECT_EQ(ring.used(), 5 * line);
}

TEST(StagingRing, WhatIsLeftAtTheEndIsSkipped) {
  StagingRing ring(10 * line);
  ASSERT_TRUE(ring.take(7 * line));
  const auto first = ring.end();
  ASSERT_TRUE(ring.take(2 * line));
  EXPECT_FALSE(ring.take(2 * line));  // one line at the end, none at the beginning
  ring.give_back_to(first);
  EXPECT_EQ(ring.take(4 * line), 0U);
  EXPECT_FALSE(ring.take(4 * line));  // up to the two that are taken there are three
  EXPECT_EQ(ring.take(3 * line), 4 * line);
}

TEST(StagingRing, WhereNothingIsOutItBeginsAgain) {
  StagingRing ring(10 * line);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(ring.take(3 * line), 0U);
    const auto first = ring.end();
    EXPECT_EQ(ring.take(line), 3 * line);
    ring.give_back_to(first);
    EXPECT_EQ(ring.take(line), 4 * line);
    ring.give_back_to(ring.end());
  }
}

// Wherever the last piece lay.
TEST(StagingRing, AnEmptyRingTakesAPieceOfAnySize) {
  StagingRing ring(10 * line);
  for (std::size_t first = 1; first <= 10; ++first)
    for (std::size_t second = 1; second <= 10; ++second) {
      ASSERT_TRUE(ring.take(first * line));
      const auto end = ring.end();
      ring.give_back_to(end);
      ASSERT_TRUE(ring.take(second * line)) << first << " lines, then " << second;
      ring.give_back_to(ring.end());
      ring.give_back_to(end);  // as nothing lies before it, this means nothing
      EXPECT_EQ(ring.used(), 0U);
    }
}

TEST(StagingRing, AllOfItIsOnePiece) {
  StagingRing ring(10 * line);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(ring.take(10 * line), 0U);
    EXPECT_FALSE(ring.take(0));
    ring.give_back_to(ring.end());
    EXPECT_EQ(ring.used(), 0U);
  }
  EXPECT_FALSE(ring.take(10 * line + 1));
  EXPECT_FALSE(StagingRing(0).take(0));
}

// Pieces of all sizes, given back some at a time: those that are out never overlap.
TEST(StagingRing, PiecesThatAreOutNeverOverlap) {
  std::mt19937_64 random(7);
  const std::size_t size = 64 * line;
  StagingRing ring(size);
  std::vector<int> owners(size / line, 0);
  struct Piece {
    std::size_t at, lines;
    StagingRing::Position end;
  };
  std::deque<Piece> out;
  for (int i = 0; i < 100000; ++i) {
    const std::size_t bytes = random() % (size / 3);
    if (const auto at = ring.take(bytes); at) {
      const std::size_t lines = bytes == 0 ? 1 : (bytes + line - 1) / line;
      ASSERT_LE(*at + bytes, size);
      for (std::size_t k = 0; k < lines; ++k) ASSERT_EQ(owners[*at / line + k]++, 0);
      out.push_back({*at, lines, ring.end()});
    } else {
      ASSERT_FALSE(out.empty());
      for (auto count = 1 + random() % out.size(); count > 0; --count) {
        for (std::size_t k = 0; k < out.front().lines; ++k) --owners[out.front().at / line + k];
        ring.give_back_to(out.front().end);
        out.pop_front();
      }
    }
  }
}

}  // namespace
}  // namespace penstock::enqueued
