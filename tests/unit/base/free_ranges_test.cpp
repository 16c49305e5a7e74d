// SPDX-License-Identifier: Apache-2.0
#include "base/free_ranges.hpp"

#include <gtest/gtest.h>

#include <map>
#include <new>
#include <optional>
#include <random>

#include "unit/support/scarce_memory.hpp"

namespace penstock::base {
namespace {

TEST(Ranges, GivesWhatIsFreeAndNothingElse) {
  Ranges ranges;
  EXPECT_FALSE(ranges.take(64, 64));
  ranges.add_chunk(4096, 4096);
  EXPECT_EQ(ranges.take(64, 64), 4096u);
  EXPECT_EQ(ranges.take(64, 64), 4160u);
  EXPECT_FALSE(ranges.take(4096, 64));
  ranges.give(4096, 64);
  ranges.give(4160, 64);
  EXPECT_EQ(ranges.take(4096, 64), 4096u);
  EXPECT_EQ(ranges.free_bytes(), 0u);
}

TEST(Ranges, Aligns) {
  Ranges ranges;
  ranges.add_chunk(0, 16384);
  EXPECT_EQ(ranges.take(64, 64), 0u);
  EXPECT_EQ(ranges.take(4096, 4096), 4096u);
  EXPECT_EQ(ranges.take(4032, 64), 64u);
}

TEST(Ranges, KeepsChunksApart) {
  Ranges ranges;
  ranges.add_chunk(0, 4096);
  ranges.add_chunk(4096, 4096);
  EXPECT_FALSE(ranges.take(8192, 64));
  const auto first = ranges.take(4096, 64);
  const auto second = ranges.take(4096, 64);
  ranges.give(*first, 4096);
  ranges.give(*second, 4096);
  EXPECT_FALSE(ranges.take(4160, 64));
}

TEST(Ranges, RandomUseNeverOverlaps) {
  std::mt19937_64 random(7);
  Ranges ranges;
  std::map<std::uint64_t, std::uint64_t> taken;
  std::uint64_t end = 0;
  for (int step = 0; step < 20000; ++step) {
    if (random() % 2 == 0 && !taken.empty()) {
      const auto victim = std::next(taken.begin(), static_cast<long>(random() % taken.size()));
      ranges.give(victim->first, victim->second);
      taken.erase(victim);
      continue;
    }
    const std::uint64_t bytes = 64 * (1 + random() % 100);
    const std::uint64_t alignment = random() % 4 == 0 ? 4096 : 64;
    auto offset = ranges.take(bytes, alignment);
    if (!offset) {
      ranges.add_chunk(end, 65536);
      end += 65536;
      offset = ranges.take(bytes, alignment);
    }
    ASSERT_TRUE(offset);
    ASSERT_EQ(*offset % alignment, 0u);
    ASSERT_EQ(*offset / 65536, (*offset + bytes - 1) / 65536) << "across two chunks";
    const auto after = taken.lower_bound(*offset);
    ASSERT_TRUE(after == taken.end() || *offset + bytes <= after->first);
    ASSERT_TRUE(after == taken.begin() ||
                std::prev(after)->first + std::prev(after)->second <= *offset);
    taken.emplace(*offset, bytes);
  }
  for (const auto& [offset, bytes] : taken) ranges.give(offset, bytes);
  EXPECT_EQ(ranges.free_bytes(), end);
}

TEST(Ranges, ACallWithoutMemoryChangesNothingAndGivingNeedsNone) {
  std::mt19937_64 random(11);
  Ranges ranges;
  std::map<std::uint64_t, std::uint64_t> taken;
  std::uint64_t end = 0;
  int refusals = 0;
  for (int step = 0; step < 20000; ++step) {
    const std::uint64_t before = ranges.free_bytes();
    if (random() % 2 == 0 && !taken.empty()) {
      const auto victim = std::next(taken.begin(), static_cast<long>(random() % taken.size()));
      {
        const ScarceMemory scarce(0);
        ranges.give(victim->first, victim->second);
      }
      ASSERT_EQ(ranges.free_bytes(), before + victim->second);
      taken.erase(victim);
      continue;
    }
    const std::uint64_t bytes = 64 * (1 + random() % 100);
    try {
      std::optional<ScarceMemory> scarce(random() % 5);
      const auto offset = ranges.take(bytes, random() % 4 == 0 ? 4096 : 64);
      if (!offset) {
        ranges.add_chunk(end, 65536);
        end += 65536;
      }
      scarce.reset();
      if (offset) taken.emplace(*offset, bytes);
    } catch (const std::bad_alloc&) {
      ++refusals;
      ASSERT_EQ(ranges.free_bytes(), before);
    }
  }
  EXPECT_GT(refusals, 100);
  for (const auto& [offset, bytes] : taken) ranges.give(offset, bytes);
  EXPECT_EQ(ranges.free_bytes(), end);
  for (std::uint64_t chunk = 0; chunk < end; chunk += 65536)
    EXPECT_TRUE(ranges.take(65536, 65536)) << chunk;
  EXPECT_FALSE(ranges.take(64, 64));
}

}  // namespace
}  // namespace penstock::base
