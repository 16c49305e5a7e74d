// SPDX-License-Identifier: Apache-2.0
// A credit that meets a full queue while its half is freed comes late. It must not count in a pair
// that was matched since: the sender would run ahead by one message more than there are slots, over
// one that has not been received.
#include <gtest/gtest.h>

#include <deque>
#include <thread>

#include "conformance/one_way.hpp"
#include "network/layer.hpp"

namespace penstock::test {
namespace {

using network::faults;

// Looks at what must not happen: it would by now. None of them can make a right library fail.
constexpr int looks = 2000;

void look_around() {
  for (int i = 0; i < looks; ++i) {
    MPI_Status status;
    int here = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &here, &status);
    std::this_thread::yield();
  }
}

void exchange_one(OneWay& pair) {
  pair.start_receive();
  pair.start_send();
  pair.wait_receive();
  pair.wait_send();
  pair.finish_send();
  pair.finish_receive();
  pair.expect_good(1);
}

TEST(LateCredit, CountsInNoPairThatWasMatchedSince) {
  ASSERT_EQ(size(), 2);
  const auto epochs = static_cast<int>(slots()) + 1;
  for (int round = 0; round < 5; ++round) {
    if (rank() == 1) faults().additions = 0;
    {
      OneWay before({.bytes = 64, .tag = 1});
      exchange_one(before);
      meet();
    }  // both halves are freed, and the credit is still owed
    meet();
    look_around();
    // Any of them may be given the words of the one before.
    std::deque<OneWay> after;
    for (int tag = 2; tag < 6; ++tag) after.emplace_back(OneWay::Options{.bytes = 64, .tag = tag});
    faults().additions = network::plenty;
    meet();
    look_around();
    for (OneWay& pair : after)
      for (int epoch = 0; epoch < epochs; ++epoch) {
        pair.start_send();
        pair.wait_send();
      }
    look_around();
    meet();
    for (OneWay& pair : after) {
      for (int epoch = 0; epoch < epochs; ++epoch) {
        pair.start_receive();
        pair.wait_receive();
      }
      pair.finish_receive();
      pair.finish_send();
      pair.expect_good(static_cast<std::uint64_t>(epochs));
    }
    meet();
  }
}

}  // namespace
}  // namespace penstock::test
