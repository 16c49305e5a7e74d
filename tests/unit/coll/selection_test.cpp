// SPDX-License-Identifier: Apache-2.0
#include "coll/selection.hpp"

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
  const char* const setting = "allreduce:one-shot,alltoall:pairwise";
  EXPECT_EQ(forced_algorithm(setting, CollectiveKind::allreduce), "one-shot");
  EXPECT_EQ(forced_algorithm(setting, CollectiveKind::alltoall), "pairwise");
  EXPECT_EQ(forced_algorithm(setting, CollectiveKind::alltoallv), "");
  EXPECT_EQ(forced_algorithm("", CollectiveKind::allreduce), "");
}

TEST(ForcedAlgorithm, OfAnotherCollectiveIsCheckedToo) {
  expect_refused("alreduce:doubling", "there is no collective 'alreduce'");
  expect_refused("alltoall:doubling", "alltoall has no algorithm 'doubling'; there is pairwise");
  expect_refused("allreduce", "allreduce has no algorithm ''");
  expect_refused(",allreduce:doubling", "there is no collective ''");
}

}  // namespace
}  // namespace penstock::coll
