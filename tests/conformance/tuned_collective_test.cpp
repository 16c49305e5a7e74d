// SPDX-License-Identifier: Apache-2.0
// PENSTOCK_TUNE, which runs of its own set: tuning/first.json, but for odd ranks
// tuning/other.json, or one that does not exist. The file of rank 0 decides for all.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "conformance/collective_blocks.hpp"
#include "support/environment.hpp"

namespace penstock::test {
namespace {

bool odd_ranks_have(const char* file) {
  const char* const set = std::getenv("PENSTOCK_TEST_ODD_TUNE");
  return set != nullptr && std::string(set).find(file) != std::string::npos;
}

std::string matched_algorithm(MPI_Request& request) {
  char name[64] = "";
  EXPECT_PST(PST_Match(&request, MPI_STATUS_IGNORE));
  EXPECT_PST(PST_Request_algorithm(request, name, sizeof name));
  EXPECT_PST(PST_Request_free(&request));
  return name;
}

class TunedCollectives : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!odd_ranks_have("other.json")) GTEST_SKIP() << "is for runs with files";
  }

  std::string allreduce(MPI_Count bytes, const char* wish = "") {
    const AlgorithmInfo info(wish);
    MPI_Request request;
    EXPECT_PST(PST_Allreduce_init(in_.data(), out_.data(), bytes, MPI_SIGNED_CHAR, MPI_SUM,
                                  MPI_COMM_WORLD, info.get(), &request));
    return matched_algorithm(request);
  }
  std::string allgather(MPI_Count bytes) {
    MPI_Request request;
    EXPECT_PST(PST_Allgather_init(in_.data(), bytes, MPI_BYTE, out_.data(), bytes, MPI_BYTE,
                                  MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    return matched_algorithm(request);
  }
  std::string alltoall(MPI_Count bytes) {
    MPI_Request request;
    EXPECT_PST(PST_Alltoall_init(in_.data(), bytes, MPI_BYTE, out_.data(), bytes, MPI_BYTE,
                                 MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    return matched_algorithm(request);
  }

  std::vector<std::byte> in_ = std::vector<std::byte>(1 << 18);
  std::vector<std::byte> out_ = in_;
};

TEST_F(TunedCollectives, TheSmallestBoundOfTheFileOfRank0Decides) {
  EXPECT_EQ(allreduce(0), "doubling");
  EXPECT_EQ(allreduce(64), "doubling");
  EXPECT_EQ(allreduce(65), "two-shot");
  EXPECT_EQ(allreduce(4096), "two-shot");
  EXPECT_EQ(allgather(64), "ring");
  EXPECT_EQ(alltoall(64), "pairwise");
}

// All members have offered it, as each has it in its file, whatever the bytes there.
TEST_F(TunedCollectives, TheDirectExchangeIsTakenBeyondTheBuiltInRule) {
  EXPECT_EQ(allreduce(8192), "one-shot");
  EXPECT_EQ(allreduce(16384), "one-shot");
}

// Where ranks stand on several nodes, the rule has what goes between them gathered.
bool stand_on_nodes() {
  return std::getenv("PENSTOCK_NODE_RANKS") != nullptr;
}

TEST_F(TunedCollectives, WhatNobodyHasMeasuredIsLeftToTheBuiltInRule) {
  const char* const by_nodes = stand_on_nodes() ? "lanes" : "two-shot";
  EXPECT_EQ(allreduce(16385), by_nodes);
  EXPECT_EQ(allreduce(100000), by_nodes);
  EXPECT_EQ(allgather(100000), "ring");
}

// Groups of three divide three ranks alone, leaders of two do not. What their file lacks, odd ranks
// offer only where the rule has it.
TEST_F(TunedCollectives, WhatDoesNotServeIsLeftToTheBuiltInRule) {
  const std::string by_ranks[] = {"direct", "locality-aware",
                                  stand_on_nodes() ? "hierarchical" : "nonblocking"};
  EXPECT_EQ(alltoall(8192), by_ranks[size() - 2]);
  EXPECT_EQ(alltoall(4096), size() == 3 ? "direct" : "multileader");
  EXPECT_EQ(allgather(16384), size() == 2 ? "direct" : "ring");
}

TEST_F(TunedCollectives, TheCallsOwnWishComesFirst) {
  EXPECT_EQ(allreduce(8, "two-shot"), "two-shot");
  EXPECT_EQ(allreduce(8, "lanes"), "lanes");
}

// One member's fault is all members' error, and what needs no file works.
TEST(TunedWrongly, AllMembersHearOfAFileThatOneCannotRead) {
  if (!odd_ranks_have("missing.json")) GTEST_SKIP() << "is for a run without such a file";
  int value = 1;
  for (int again = 0; again < 2; ++again) {
    MPI_Request request;
    ASSERT_PST(PST_Allreduce_init(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                                  MPI_INFO_NULL, &request));
    EXPECT_PST_KIND(PST_Match(&request, MPI_STATUS_IGNORE), PST_ERROR_SETTING);
    for (const char* const words : {"rank 1: PENSTOCK_TUNE='", "missing.json' is not valid",
                                    "it cannot be read: No such file", "penstock tune collectives"})
      EXPECT_NE(last_error().find(words), std::string::npos) << last_error();
    EXPECT_PST(PST_Request_free(&request));
  }
  const AlgorithmInfo doubling("doubling");
  MPI_Request request;
  ASSERT_PST(PST_Allreduce_init(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                                doubling.get(), &request));
  EXPECT_EQ(matched_algorithm(request), "doubling");
}

}  // namespace
}  // namespace penstock::test
