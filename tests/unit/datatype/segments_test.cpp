// SPDX-License-Identifier: Apache-2.0
// Regular datatypes take a list of constant length, numbers that do not fit are refused, and what
// lies twice is found. That all bytes lie where MPI says is group/datatype_program's matter.
#include "datatype/segments.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <limits>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "datatype/place.hpp"

namespace penstock::datatype {
namespace {

using base::Error;
using base::ErrorKind;

Segments repeated(Segments segments, std::uint64_t count, std::int64_t stride) {
  segments.repeat(count, stride);
  return segments;
}

// Of every byte in the order of the message, from what the view says of each position.
std::vector<std::int64_t> places(const Segments& segments) {
  std::vector<std::int64_t> result;
  const SegmentView view = segments.view();
  for (std::uint64_t i = 0; i < segments.bytes(); ++i)
    result.push_back(offset_of(view, place_at(view, i)));
  return result;
}

template <class Make>
ErrorKind kind_thrown(Make make) {
  try {
    make();
  } catch (const Error& error) {
    return error.kind();
  }
  return ErrorKind::none;
}

TEST(Segments, WhatHasNoGapsIsOneRun) {
  Segments bytes(8);
  bytes.repeat(1000000, 8);
  EXPECT_TRUE(bytes.one_run());
  EXPECT_EQ(bytes.bytes(), 8000000u);
  Segments two(4);
  two.append(Segments(4), 4);
  EXPECT_TRUE(two.one_run());
}

TEST(Segments, AColumnIsOneSegment) {
  const Segments column = repeated(Segments(8), 1000000000, 4096);
  EXPECT_EQ(column.list().size(), 1u);
  EXPECT_EQ(column.bytes(), 8000000000u);
}

TEST(Segments, ABoxOfThreeDimensionsIsOneSegmentThatRepeats) {
  const Segments box = repeated(repeated(Segments(800), 100, 8000), 100, 8000000);
  EXPECT_EQ(box.list().size(), 1u);
  EXPECT_EQ(box.repetitions(), 100u);
  EXPECT_EQ(box.mean_run(), 800u);
}

TEST(Segments, AnArrayOfStructuresIsOneStructureThatRepeats) {
  Segments structure(8);
  structure.append(Segments(4), 16);
  const Segments array = repeated(structure, 1000000, 24);
  EXPECT_EQ(array.list().size(), 2u);
  EXPECT_EQ(array.bytes(), 12000000u);
}

TEST(Segments, NumbersThatDoNotFitAreRefused) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(kind_thrown([] { repeated(Segments(8), std::uint64_t{1} << 61, 8); }),
            ErrorKind::argument);
  EXPECT_EQ(kind_thrown([] { repeated(Segments(8), 3, most / 2 + 1); }), ErrorKind::argument);
  EXPECT_EQ(kind_thrown([] {
              Segments far(8);
              far.move_by(most);
              static_cast<void>(far.span());
            }),
            ErrorKind::argument);
}

TEST(Segments, MorePiecesThanTheListHoldsAreRefused) {
  // Each repetition has two segments, and a third level takes one list of all of them.
  Segments pieces(1);
  pieces.append(Segments(2), 4);
  pieces.repeat(Segments::most, 8);
  EXPECT_EQ(kind_thrown([&] { pieces.repeat(2, 4); }), ErrorKind::resources);
}

// Under ThreadSanitizer: whoever shares a list may ask first.
TEST(Segments, TwoThreadsMayAskWhetherAByteLiesTwice) {
  for (int round = 0; round < 100; ++round) {
    Segments blocks = repeated(Segments(4), 10, 16);
    blocks.append(repeated(Segments(4), 10, 16), round % 2 == 0 ? 8 : 2);
    std::latch both(2);
    std::array<bool, 2> found{};
    std::array<std::thread, 2> threads;
    for (std::size_t i = 0; i < 2; ++i)
      threads[i] = std::thread([&, i] {
        both.arrive_and_wait();
        found[i] = std::as_const(blocks).overlap();
      });
    for (std::thread& thread : threads) thread.join();
    for (const bool one : found) EXPECT_EQ(one, round % 2 != 0);
  }
}

TEST(Segments, ABytesThatLieTwiceAreFound) {
  EXPECT_TRUE(repeated(Segments(8), std::uint64_t{1} << 30, 4).overlap());  // without a look
  EXPECT_TRUE(repeated(Segments(8), 3, 4).overlap());
  EXPECT_TRUE(repeated(Segments(8), 3, -7).overlap());
  EXPECT_FALSE(repeated(Segments(8), 3, -8).overlap());
  Segments asked_before(8);
  EXPECT_FALSE(asked_before.overlap());
  asked_before.append(Segments(8), 4);
  EXPECT_TRUE(asked_before.overlap());  // the answer does not outlive a change
  EXPECT_TRUE(Segments(asked_before).overlap());
  Segments interleaved = repeated(Segments(4), 10, 16);
  interleaved.append(repeated(Segments(4), 10, 16), 8);
  EXPECT_FALSE(interleaved.overlap());
  interleaved.append(Segments(1), 155);
  EXPECT_TRUE(interleaved.overlap());
  // The columns of a matrix, one behind the other.
  EXPECT_FALSE(repeated(repeated(Segments(8), 100000, 8 * 100000), 100000, 8).overlap());
  Segments comb(4);
  comb.append(Segments(4), 40);
  EXPECT_FALSE(repeated(comb, 5, 8).overlap());  // each between the teeth of those before
  EXPECT_TRUE(repeated(comb, 11, 8).overlap());
}

// Against the places of all bytes, one by one.
TEST(Segments, RandomOnesAreWhatTheirPartsAre) {
  std::mt19937_64 random(4711);
  const auto from_to = [&](int first, int last) {
    return first + static_cast<int>(random() % static_cast<unsigned>(last - first + 1));
  };
  for (int i = 0; i < 2000; ++i) {
    Segments segments(static_cast<std::uint64_t>(from_to(1, 9)));
    std::vector<std::int64_t> expected = places(segments);
    for (int step = from_to(1, 5); step > 0; --step) {
      const std::vector<std::int64_t> before = expected;
      const std::int64_t distance = from_to(-40, 40);
      if (from_to(0, 1) == 0) {
        const int count = from_to(1, 4);
        segments.repeat(static_cast<std::uint64_t>(count), distance);
        expected.clear();
        for (int k = 0; k < count; ++k)
          for (const std::int64_t place : before) expected.push_back(place + k * distance);
      } else {
        segments.append(Segments(segments), distance);
        for (const std::int64_t place : before) expected.push_back(place + distance);
      }
    }
    ASSERT_EQ(places(segments), expected) << "number " << i;
    const Segments copy = Segments::from_bytes(segments.to_bytes());
    ASSERT_EQ(places(copy), expected) << "number " << i << ", from bytes";
    std::vector<std::int64_t> sorted = expected;
    std::sort(sorted.begin(), sorted.end());
    ASSERT_EQ(segments.span().first, sorted.front());
    ASSERT_EQ(segments.span().end, sorted.back() + 1);
    ASSERT_EQ(segments.overlap(), std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
        << "number " << i;
  }
}

}  // namespace
}  // namespace penstock::datatype
