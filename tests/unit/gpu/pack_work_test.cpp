// SPDX-License-Identifier: Apache-2.0
#include "gpu/pack_work.hpp"

#include <gtest/gtest.h>

namespace penstock::gpu {
namespace {

std::byte* address(std::uintptr_t at) {
  return reinterpret_cast<std::byte*>(at);
}

// A column of rows of so many bytes, `stride` apart, in a message of `bytes` bytes.
PackWork column(std::uint64_t row, std::int64_t stride, std::uint64_t bytes,
                std::uintptr_t buffer = 0x1000) {
  datatype::Segments segments(row);
  segments.repeat(bytes / row, stride);
  return pack_work(segments, nullptr, address(buffer), address(0x100000), bytes);
}

TEST(PackWork, MovesTheWidestWordsThatCrossNoGap) {
  EXPECT_EQ(column(256, 512, 1024).width, 16);
  EXPECT_EQ(column(8, 24, 1024).width, 8);
  EXPECT_EQ(column(16, 40, 1024).width, 8);
  EXPECT_EQ(column(4, 12, 1024).width, 4);
  EXPECT_EQ(column(6, 14, 1020).width, 2);
  EXPECT_EQ(column(3, 8, 1020).width, 1);
}

TEST(PackWork, TheBufferAndTheMessageLimitTheirWidth) {
  EXPECT_EQ(column(256, 512, 1024, 0x1008).width, 8);
  EXPECT_EQ(column(256, 512, 1024, 0x1001).width, 1);
  datatype::Segments segments(256);
  segments.repeat(4, 512);
  // Less than there is room for.
  const PackWork work = pack_work(segments, nullptr, address(0x1000), address(0x2000), 12);
  EXPECT_EQ(work.width, 4);
}

TEST(PackWork, NegativeStridesAndOffsetsCountAsOthersDo) {
  EXPECT_EQ(column(16, -40, 1024).width, 8);
}

TEST(PackWork, HasAThreadForEachWordUpToALimit) {
  EXPECT_EQ(column(16, 32, 16).blocks, 1);
  EXPECT_EQ(column(16, 32, 16 * 1024).blocks, 4);
  EXPECT_EQ(column(16, 32, 1 << 30).blocks, 256);
}

TEST(PackWork, LargeMessagesNeedLargeNumbers) {
  EXPECT_TRUE(column(16, 32, std::uint64_t{1} << 31).in_32_bits);
  EXPECT_FALSE(column(16, 32, std::uint64_t{1} << 32).in_32_bits);
}

}  // namespace
}  // namespace penstock::gpu
