// SPDX-License-Identifier: Apache-2.0
// How many blocks a kernel of several pairs has: what gpu_shares.cpp counts a waiting kernel for
// rests on it.
#include "peer_gpu/shape.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

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

TEST(GpuShape, OnlySomeOfThePairsShare) {
  std::vector<Pair> pairs(3);
  for (Pair& pair : pairs) pair.blocks = 40;
  pairs[1].sends = true;
  EXPECT_EQ(share_out(std::span(pairs), 20, [](const Pair& pair) { return !pair.sends; }), 20u);
  EXPECT_EQ(pairs[1].blocks, 40u);
}

}  // namespace
}  // namespace penstock::peer_gpu
