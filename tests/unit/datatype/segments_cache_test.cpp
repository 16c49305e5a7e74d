// SPDX-License-Identifier: Apache-2.0
#include "datatype/segments_cache.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace penstock::datatype {
namespace {

std::shared_ptr<const Segments> described(std::uint64_t bytes, std::uint64_t count,
                                          std::int64_t stride) {
  Segments segments(bytes);
  segments.repeat(count, stride);
  return std::make_shared<const Segments>(std::move(segments));
}

TEST(SegmentsCache, EqualDescriptionsAreOne) {
  SegmentsCache cache;
  const auto first = cache.share(described(8, 4, 24));
  EXPECT_EQ(cache.share(described(8, 4, 24)), first);
  EXPECT_NE(cache.share(described(8, 4, 32)), first);
  EXPECT_NE(cache.share(described(8, 5, 24)), first);
  EXPECT_NE(cache.share(described(4, 4, 24)), first);
}

TEST(SegmentsCache, ADescriptionEndsWithItsLastUser) {
  SegmentsCache cache;
  auto first = cache.share(described(8, 4, 24)), second = cache.share(described(8, 4, 24));
  const std::weak_ptr<const Segments> known = first;
  first.reset();
  EXPECT_FALSE(known.expired());
  second.reset();
  EXPECT_TRUE(known.expired());
  const auto again = cache.share(described(8, 4, 24));
  EXPECT_EQ(*again, *described(8, 4, 24));
}

TEST(SegmentsCache, ThoseThatAreGoneAreForgotten) {
  SegmentsCache cache;
  std::vector<std::shared_ptr<const Segments>> used;
  for (std::int64_t i = 0; i < 10'000; ++i) {
    const auto one = cache.share(described(8, 4, 24 + i));
    if (i % 100 == 0) used.push_back(one);
  }
  EXPECT_LE(cache.size(), 2 * used.size() + 64);
  for (std::size_t i = 0; i < used.size(); ++i)
    EXPECT_EQ(cache.share(described(8, 4, 24 + 100 * static_cast<std::int64_t>(i))), used[i]);
}

TEST(SegmentsCache, ADescriptionThatComesAndGoesTakesOnePlace) {
  SegmentsCache cache;
  for (int i = 0; i < 50; ++i) cache.share(described(8, 4, 24));
  EXPECT_EQ(cache.size(), 1u);
}

}  // namespace
}  // namespace penstock::datatype
