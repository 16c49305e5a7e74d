// SPDX-License-Identifier: Apache-2.0
// Which messages are rows, and that their bytes lie where the segments say.
#include "datatype/rows_of.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "datatype/place.hpp"

namespace penstock::datatype {
namespace {

Segments rows(std::uint64_t bytes, std::uint64_t count, std::int64_t stride) {
  Segments segments(bytes);
  segments.repeat(count, stride);
  return segments;
}

TEST(Rows, EveryByteOfAVectorLiesWhereItsSegmentsSay) {
  for (const auto& [bytes, count, stride] : {std::tuple{8, 5, 24}, {3, 7, 4}, {1, 9, 2}}) {
    const Segments segments = rows(bytes, count, stride);
    const auto found = rows_of(segments);
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->has_gaps());
    const SegmentView view = segments.view();
    for (std::uint32_t i = 0; i < segments.bytes(); ++i) {
      const Place place = place_at(view, i);
      EXPECT_EQ(offset_in(*found, i), offset_of(view, place));
    }
  }
}

// Right before and at the begin of rows, up to the last position.
TEST(Rows, TheProductDividesExactly) {
  std::mt19937 random(3);
  std::vector<std::uint32_t> lengths{1, 2, 3, 5, 7, 1u << 30, (1u << 30) + 1, (1u << 31) - 1};
  for (int i = 0; i < 2000; ++i) lengths.push_back((random() >> (1 + random() % 31)) + 1);
  for (const std::uint32_t bytes : lengths) {
    const auto found = rows_of(rows(bytes, 2, std::int64_t{bytes} + 1));
    if (!found) continue;  // two of them are too large
    constexpr std::uint32_t end = 1u << 31;
    std::vector<std::uint32_t> positions{0, end - 1};
    for (int i = 0; i < 50; ++i) positions.push_back(random() % end / bytes * bytes);
    for (const std::uint32_t position : positions)
      for (const std::uint32_t each : {position, position == 0 ? 0 : position - 1})
        ASSERT_EQ(offset_in(*found, each),
                  std::uint64_t{each / bytes} * found->stride + each % bytes)
            << each << " in rows of " << bytes;
  }
}

TEST(Rows, SendsMayReadABytePerRowTwice) {
  const auto found = rows_of(rows(8, 3, 4));
  ASSERT_TRUE(found);
  EXPECT_EQ(offset_in(*found, 16), 8);
}

TEST(Rows, OtherShapesAreNone) {
  Segments planes = rows(8, 3, 16);
  planes.repeat(2, 100);
  EXPECT_FALSE(rows_of(planes));
  Segments two(8);
  two.append(Segments(4), 16);
  EXPECT_FALSE(rows_of(two));
  Segments down = rows(8, 3, -16);
  EXPECT_FALSE(rows_of(down));
  Segments far_in = rows(8, 3, 16);
  far_in.move_by(8);
  EXPECT_FALSE(rows_of(far_in));
}

TEST(Rows, NumbersOf32BitsMustDo) {
  constexpr std::int64_t most_stride = 0xffffffff;
  EXPECT_TRUE(rows_of(rows(8, 2, most_stride)));
  EXPECT_FALSE(rows_of(rows(8, 2, most_stride + 1)));
  EXPECT_TRUE(rows_of(rows(1 << 20, 2048, 1 << 21)));
  EXPECT_FALSE(rows_of(rows(1 << 20, 2049, 1 << 21)));
}

TEST(Rows, StepsThatCrossNoGapAreAligned) {
  const auto* const aligned = reinterpret_cast<const std::byte*>(std::uintptr_t{64});
  const auto steps_of = [&](const std::byte* buffer, std::uint64_t bytes, std::uint64_t row,
                            std::int64_t stride) {
    const std::uint64_t all = alignment_of(buffer, bytes, rows_of(rows(row, 3, stride)).value());
    return all & ~(all - 1);
  };
  EXPECT_EQ(steps_of(aligned, 64, 32, 64), 32);
  EXPECT_EQ(steps_of(aligned, 24, 8, 16), 8);
  EXPECT_EQ(steps_of(aligned, 12, 4, 8), 4);
  EXPECT_EQ(steps_of(aligned + 4, 24, 8, 16), 4);
  EXPECT_EQ(steps_of(aligned, 20, 8, 16), 4);
  EXPECT_EQ(steps_of(aligned, 24, 8, 14), 2);
  EXPECT_EQ(steps_of(aligned, 9, 3, 8), 1);
}

}  // namespace
}  // namespace penstock::datatype
