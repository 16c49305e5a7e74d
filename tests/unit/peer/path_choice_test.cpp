// SPDX-License-Identifier: Apache-2.0
// What is staged says why: users ask for it, as it takes twice the message's bytes.
#include "peer/path_choice.hpp"

#include <gtest/gtest.h>

namespace penstock::peer {
namespace {

Circumstances across_memory() {
  Circumstances now{.bytes = 100000, .eager_max = 8192};
  now.pull = now.push = Copy::across;
  return now;
}

std::string path_of(const Circumstances& now) {
  const PathChoice choice = decide(now);
  return describe_path(choice.path, choice.why, {});
}

TEST(PeerPathChoice, ALargeMessageIsCopiedFromBufferToBuffer) {
  EXPECT_EQ(decide(across_memory()).path, Path::rendezvous);
}

TEST(PeerPathChoice, ShortRunsOfAnotherProcessAreStaged) {
  Circumstances now = across_memory();
  now.mean_run = 2047;
  EXPECT_EQ(path_of(now), "whole message staged for its short runs, 2 slots");
  now.mean_run = 2048;
  EXPECT_EQ(decide(now).path, Path::rendezvous);
}

TEST(PeerPathChoice, ShortRunsInSharedMemoryAreNotStaged) {
  Circumstances now = across_memory();
  now.pull = now.push = Copy::shared;
  now.mean_run = 8;
  EXPECT_EQ(decide(now).path, Path::rendezvous);
}

TEST(PeerPathChoice, AListThatIsTooLongToTravelMakesTheMessageStaged) {
  Circumstances now = across_memory();
  now.lists_stay = true;
  EXPECT_EQ(path_of(now), "whole message staged for its many segments, 2 slots");
}

TEST(PeerPathChoice, BuffersOutOfReachAreStaged) {
  Circumstances now = across_memory();
  now.pull = Copy::impossible;
  EXPECT_EQ(path_of(now), "whole message staged as a buffer is out of reach, 2 slots");
}

// Longer rows would not help.
TEST(PeerPathChoice, OfTwoReasonsTheOneIsToldThatNoDatatypeCures) {
  Circumstances now = across_memory();
  now.pull = Copy::impossible;
  now.mean_run = 8;
  now.lists_stay = true;
  EXPECT_EQ(decide(now).why, WhyStaged::out_of_reach);
}

// It is only pushed.
TEST(PeerPathChoice, AReadySendNeedsOneDirection) {
  Circumstances now = across_memory();
  now.pull = Copy::impossible;
  now.mode = protocol::Mode::ready;
  EXPECT_EQ(decide(now).path, Path::rendezvous);
}

}  // namespace
}  // namespace penstock::peer
