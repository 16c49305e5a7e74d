// SPDX-License-Identifier: Apache-2.0
// Which units a range of elements is, and which ranges are none.
#include "channel/grid.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace penstock::channel {
namespace {

Grid grid(std::uint64_t count, std::uint64_t unit, std::uint64_t element_bytes = 8) {
  return Grid({element_bytes, unit, count});
}

void expect_units(const Grid& of, std::int64_t offset, std::int64_t count, UnitRange units) {
  const UnitRange found = of.cut(offset, count);
  EXPECT_EQ(found.first, units.first);
  EXPECT_EQ(found.count, units.count);
}

void expect_refused(const Grid& of, std::int64_t offset, std::int64_t count) {
  try {
    of.cut(offset, count);
    FAIL() << offset << ", " << count;
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::ErrorKind::argument);
  }
}

TEST(ChannelGrid, TheLastUnitMayBeShort) {
  const Grid of = grid(22, 4);
  EXPECT_EQ(of.units(), 6u);
  EXPECT_EQ(of.bytes(0), 32u);
  EXPECT_EQ(of.bytes(5), 16u);
  EXPECT_EQ(of.first_byte(5), 160u);
  EXPECT_EQ(of.text(5), "unit 5 (elements 20 to 21)");
  expect_units(of, 0, 22, {0, 6});
  expect_units(of, 4, 8, {1, 2});
  expect_units(of, 20, 2, {5, 1});
  expect_units(of, 22, 0, {0, 0});
}

TEST(ChannelGrid, OneUnitAndNone) {
  EXPECT_EQ(grid(3, 4).units(), 1u);
  EXPECT_EQ(grid(4, 4).units(), 1u);
  EXPECT_EQ(grid(0, 4).units(), 0u);
  expect_units(grid(3, 4), 0, 3, {0, 1});
  expect_units(grid(0, 4), 0, 0, {0, 0});
}

TEST(ChannelGrid, RangesThatAreNone) {
  const Grid of = grid(22, 4);
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  expect_refused(of, -4, 4);
  expect_refused(of, 0, -4);
  expect_refused(of, 1, 4);
  expect_refused(of, 0, 3);
  expect_refused(of, 0, 21);
  expect_refused(of, 20, 1);
  expect_refused(of, 20, 4);
  expect_refused(of, 24, 0);
  expect_refused(of, 4, most);
  expect_refused(of, most, most);
}

}  // namespace
}  // namespace penstock::channel
