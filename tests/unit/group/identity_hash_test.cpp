// SPDX-License-Identifier: Apache-2.0
#include "group/identity_hash.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <set>
#include <string>
#include <vector>

namespace penstock::group {
namespace {

using Ranks = std::vector<int>;

CommunicatorId of(const Ranks& first, const Ranks& second) {
  return IdentityHash().add(first).add(second).value();
}

TEST(IdentityHash, IsAFunctionOfWhatWasAdded) {
  EXPECT_EQ(IdentityHash().add(7u).add("dup").value(), IdentityHash().add(7u).add("dup").value());
  EXPECT_NE(IdentityHash().add(7u).add("dup").value(), IdentityHash().add("dup").add(7u).value());
}

TEST(IdentityHash, ListsDoNotRunTogether) {
  EXPECT_NE(of({1, 2}, {3}), of({1}, {2, 3}));
  EXPECT_NE(of({}, {1}), of({1}, {}));
  EXPECT_NE(of({0}, {}), of({0, 0}, {}));
  EXPECT_NE(IdentityHash().add("ab").add("c").value(), IdentityHash().add("a").add("bc").value());
}

TEST(IdentityHash, EveryInputBitChangesAboutHalfOfEachHalf) {
  for (int bit = 0; bit < 64; ++bit) {
    int high = 0, low = 0;
    constexpr int trials = 200;
    for (std::uint64_t i = 0; i < trials; ++i) {
      const CommunicatorId a = IdentityHash().add(i).add(i * i).value();
      const CommunicatorId b = IdentityHash().add(i ^ (std::uint64_t{1} << bit)).add(i * i).value();
      high += std::popcount(a.high ^ b.high);
      low += std::popcount(a.low ^ b.low);
    }
    // The mean of 200 trials of 64 fair coins has a deviation of 0.28: 3 is beyond any chance.
    EXPECT_NEAR(high / static_cast<double>(trials), 32.0, 3.0) << "input bit " << bit;
    EXPECT_NEAR(low / static_cast<double>(trials), 32.0, 3.0) << "input bit " << bit;
  }
}

TEST(IdentityHash, TheIdentitiesOfATreeOfCommunicatorsDiffer) {
  std::set<CommunicatorId> seen;
  std::set<std::uint64_t> lows, highs;  // each half alone should already tell them apart
  std::vector<CommunicatorId> parents{IdentityHash().add("MPI_COMM_WORLD").value()};
  const Ranks ranks{0, 1, 2, 3};
  for (std::size_t i = 0; parents.size() < 20000; ++i) {
    for (const char* how : {"dup", "split"}) {
      for (std::uint64_t number = 1; number <= 2; ++number) {
        const CommunicatorId child =
            IdentityHash().add(parents[i]).add(how).add(number).add(ranks).value();
        parents.push_back(child);
        EXPECT_TRUE(seen.insert(child).second);
        EXPECT_TRUE(lows.insert(child.low).second);
        EXPECT_TRUE(highs.insert(child.high).second);
      }
    }
  }
}

}  // namespace
}  // namespace penstock::group
