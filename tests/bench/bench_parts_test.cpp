// SPDX-License-Identifier: Apache-2.0
// What --check rests on: every wrong byte is found; and the ranks of a halo agree on who sends what
// to whom. What ranks give to a collective is what they get of it.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "collective_data.hpp"
#include "pattern.hpp"
#include "rank_grid.hpp"

namespace penstock::bench {
namespace {

TEST(Pattern, EveryWrongByteIsCounted) {
  for (const std::size_t bytes : {1, 7, 8, 9, 100}) {
    std::vector<std::byte> message(bytes);
    fill_pattern(message, 3, 5);
    EXPECT_EQ(count_wrong(message, 3, 5), 0u);
    for (std::byte& one : message) {
      one ^= std::byte{0x10};
      EXPECT_EQ(count_wrong(message, 3, 5), 1u) << bytes;
      one ^= std::byte{0x10};
    }
  }
}

TEST(Pattern, AnotherSenderAnotherIterationAndAShiftAreWrong) {
  std::vector<std::byte> message(64);
  fill_pattern(message, 3, 5);
  EXPECT_GT(count_wrong(message, 4, 5), 32u);
  EXPECT_GT(count_wrong(message, 3, 6), 32u);
  EXPECT_GT(count_wrong(std::span(message).subspan(8), 3, 5), 32u);
}

TEST(Pattern, TheFirstWrongMessageIsKept) {
  std::vector<std::byte> message(8);
  fill_pattern(message, 0, 0);
  CheckResult result;
  for (std::uint64_t iteration = 0; iteration < 3; ++iteration) result.add(message, 0, iteration);
  EXPECT_EQ(result.messages, 3u);
  EXPECT_GT(result.wrong_bytes, 8u);
  EXPECT_EQ(result.first_wrong, 1u);
}

TEST(RankGrid, WhatIsSentInADirectionIsReceivedInIt) {
  for (const int ranks : {1, 2, 3, 4, 6, 7, 8, 12, 27}) {
    for (int rank = 0; rank < ranks; ++rank) {
      const auto messages = halo_messages(rank, ranks, 5);
      ASSERT_EQ(messages.size(), 26u);
      for (std::size_t i = 0; i < messages.size(); ++i) {
        const HaloMessage there = halo_messages(messages[i].to, ranks, 5)[i];
        EXPECT_EQ(there.from, rank);
        EXPECT_EQ(there.direction, messages[i].direction);
        EXPECT_EQ(there.bytes, messages[i].bytes);
      }
    }
  }
}

TEST(RankGrid, AHaloHasSixFacesTwelveEdgesAndEightCorners) {
  std::size_t faces = 0, edges = 0, corners = 0;
  for (const HaloMessage& each : halo_messages(0, 8, 5)) {
    faces += each.bytes == 25 * sizeof(double) ? 1 : 0;
    edges += each.bytes == 5 * sizeof(double) ? 1 : 0;
    corners += each.bytes == sizeof(double) ? 1 : 0;
  }
  EXPECT_EQ(faces, 6u);
  EXPECT_EQ(edges, 12u);
  EXPECT_EQ(corners, 8u);
}

TEST(RankGrid, ThreeRanksOfALineAreEachOthersNeighbours) {
  const auto messages = halo_messages(0, 3, 1);
  EXPECT_EQ(rank_grid(3)[0], 3);
  EXPECT_EQ(messages.front().to, 2);
  EXPECT_EQ(messages.back().to, 1);
}

Traffic traffic_of(int rank) {
  return {.shape = Traffic::Shape::at_once, .rank = rank, .ranks = 3};
}

TEST(CollectiveData, WhatARankGetsIsWhatItWasGiven) {
  for (const Kind kind : {Kind::allgather, Kind::alltoall, Kind::alltoallv, Kind::bcast}) {
    const auto given = given_block(kind, traffic_of(2), {1, 100});
    EXPECT_EQ(expected_block(kind, traffic_of(1), {2, 100}), given);
    EXPECT_NE(expected_block(kind, traffic_of(1), {0, 100}), given);
  }
}

TEST(CollectiveData, SumsAreThoseOfAllRanks) {
  for (const Kind kind : {Kind::allreduce, Kind::reduce, Kind::reduce_scatter}) {
    const int block = kind == Kind::reduce_scatter ? 1 : 0;
    std::vector<double> sums(5), expected(5);
    for (int rank = 0; rank < 3; ++rank) {
      const auto given = given_block(kind, traffic_of(rank), {block, 40});
      for (std::size_t i = 0; i < sums.size(); ++i) {
        double number = 0;
        std::memcpy(&number, &given[i * sizeof number], sizeof number);
        sums[i] += number;
      }
    }
    std::memcpy(expected.data(), expected_block(kind, traffic_of(1), {0, 40}).data(), 40);
    EXPECT_EQ(sums, expected);
  }
}

}  // namespace
}  // namespace penstock::bench
