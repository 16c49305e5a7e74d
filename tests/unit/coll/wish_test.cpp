// SPDX-License-Identifier: Apache-2.0
// PENSTOCK_COLL: which of its wishes is a collective's, and what is wrong with one.
#include "coll/wish.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/error.hpp"

namespace penstock::coll {
namespace {

void expect_refused(const char* setting, const char* words) {
  try {
    forced_algorithm(setting, CollectiveKind::allreduce);
    ADD_FAILURE() << setting;
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::ErrorKind::setting);
    EXPECT_NE(error.text().find(words), std::string::npos) << error.text();
    EXPECT_NE(error.text().find("PENSTOCK_COLL"), std::string::npos) << error.text();
  }
}

TEST(ForcedAlgorithm, IsThatOfItsCollective) {
  const char* const setting = "allreduce:one-shot,alltoall:pairwise:4";
  EXPECT_EQ(forced_algorithm(setting, CollectiveKind::allreduce), "one-shot");
  EXPECT_EQ(forced_algorithm(setting, CollectiveKind::alltoall), "pairwise:4");
  EXPECT_EQ(forced_algorithm(setting, CollectiveKind::alltoallv), "");
  EXPECT_EQ(forced_algorithm("", CollectiveKind::allreduce), "");
}

TEST(ForcedAlgorithm, OfAnotherCollectiveIsCheckedToo) {
  expect_refused("alreduce:doubling", "there is no collective 'alreduce'");
  expect_refused("alltoall:doubling", "alltoall has no algorithm 'doubling'; there is pairwise");
  expect_refused("allreduce", "allreduce has no algorithm ''");
  expect_refused(",allreduce:doubling", "there is no collective ''");
  expect_refused("allreduce:doubling,", "there is no collective ''");
  expect_refused("allreduce:doubling,alltoall:pairwise,allreduce:one-shot",
                 "it has two algorithms for allreduce");
  expect_refused("alltoall:pairwise:0", "the width is no whole number of ranks from 1 on");
  expect_refused("alltoall:node-aware:2", "'node-aware:2': node-aware has no width; there is");
}

TEST(Wish, HasANameAndPerhapsAWidth) {
  EXPECT_EQ(read_wish(CollectiveKind::alltoall, "multileader:12").width, 12);
  EXPECT_EQ(read_wish(CollectiveKind::alltoall, "multileader:12").name, "multileader");
  EXPECT_EQ(read_wish(CollectiveKind::alltoall, "multileader").width, 0);
  EXPECT_EQ(read_wish(CollectiveKind::allreduce, "one-shot").name, "one-shot");
}

}  // namespace
}  // namespace penstock::coll
