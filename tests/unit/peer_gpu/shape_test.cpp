// SPDX-License-Identifier: Apache-2.0
// How many blocks a kernel of several pairs has: what gpu_shares.cpp counts a waiting kernel for
// rests on it. And which messages with gaps kernels move where they lie.
#include "peer_gpu/shape.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "unit/support/described_layout.hpp"

namespace penstock::peer_gpu {
namespace {

unsigned blocks_of(const std::vector<Pair>& pairs) {
  unsigned sum = 0;
  for (const Pair& pair : pairs) sum += pair.blocks;
  return sum;
}

TEST(GpuShape, AKernelOfSeveralPairsHasNoMoreBlocksThanItMay) {
  for (const unsigned most : {16u, 63u, 64u})
    for (unsigned large = 0; large <= largest_batch; ++large)
      for (unsigned small = large == 0; large + small <= largest_batch; ++small) {
        std::vector<Pair> pairs(large + small);
        for (unsigned i = 0; i < large; ++i) pairs[i].blocks = 32;
        const unsigned wanted = blocks_of(pairs);
        const unsigned given = share_out(std::span(pairs), most, [](const Pair&) { return true; });
        SCOPED_TRACE(testing::Message() << large << " large, " << small << " small, " << most);
        ASSERT_EQ(given, blocks_of(pairs));
        ASSERT_LE(given, std::max<unsigned>(most, large + small));
        if (wanted <= most) {
          ASSERT_EQ(given, wanted);
        }
        for (const Pair& pair : pairs) ASSERT_GE(pair.blocks, 1u);
      }
}

transport::Message rows_of(std::uint64_t row, std::uint64_t count, std::int64_t stride,
                           std::uintptr_t buffer = 0x1000) {
  datatype::Segments segments(row);
  segments.repeat(count, stride);
  transport::Message message;
  message.buffer = reinterpret_cast<void*>(buffer);
  message.bytes = segments.bytes();
  message.layout = std::make_shared<test::DescribedLayout>(std::move(segments));
  return message;
}

bool in_place(const transport::Message& message, std::uint64_t eager_max = 1 << 20) {
  return rows_in_place(message, message.bytes, eager_max).has_value();
}

TEST(GpuShape, RowsOfHalfWordsAreMovedWhereTheyLie) {
  EXPECT_TRUE(in_place(rows_of(8, 100, 24)));
  EXPECT_TRUE(in_place(rows_of(4, 100, 12)));
  EXPECT_FALSE(in_place(rows_of(2, 100, 12)));
  EXPECT_FALSE(in_place(rows_of(4, 100, 10)));
  EXPECT_FALSE(in_place(rows_of(8, 100, 24, 0x1002)));
}

TEST(GpuShape, ShortRowsOfALargeMessageArePacked) {
  EXPECT_TRUE(in_place(rows_of(64, 100, 128), 6400));
  EXPECT_FALSE(in_place(rows_of(64, 100, 128), 6399));
  EXPECT_TRUE(in_place(rows_of(128, 100, 256), 6399));
}

TEST(GpuShape, RowsOfALargeMessageAreWholeStepsOfTheLink) {
  EXPECT_TRUE(in_place(rows_of(264, 100, 512), 26400));
  EXPECT_FALSE(in_place(rows_of(264, 100, 512), 26399));
  EXPECT_FALSE(in_place(rows_of(256, 100, 520), 25599));
  EXPECT_FALSE(in_place(rows_of(256, 100, 512, 0x1008), 25599));
}

// A receive may have room for more than is sent: the limit is the sender's, for what it sends.
TEST(GpuShape, WhatIsSentDecidesNotWhatThereIsRoomFor) {
  const transport::Message receive = rows_of(64, 100, 128);
  EXPECT_TRUE(rows_in_place(receive, 640, 640));
  EXPECT_FALSE(rows_in_place(receive, 641, 640));
}

// Else a receive would store a word of it.
TEST(GpuShape, AMessageOfNoBytesHasNoRows) {
  const auto rows = rows_in_place(rows_of(8, 100, 24), 0, 1 << 20);
  ASSERT_TRUE(rows);
  EXPECT_FALSE(rows->has_gaps());
}

TEST(GpuShape, AMessageWithoutGapsLiesInPlace) {
  transport::Message message;
  message.bytes = 3;
  const auto rows = rows_in_place(message, message.bytes, 0);
  ASSERT_TRUE(rows);
  EXPECT_FALSE(rows->has_gaps());
}

TEST(GpuShape, OnlySomeOfThePairsShare) {
  std::vector<Pair> pairs(3);
  for (Pair& pair : pairs) pair.blocks = 40;
  pairs[1].sends = true;
  EXPECT_EQ(share_out(std::span(pairs), 20, [](const Pair& pair) { return !pair.sends; }), 20u);
  EXPECT_EQ(pairs[1].blocks, 40u);
}

}  // namespace
}  // namespace penstock::peer_gpu
