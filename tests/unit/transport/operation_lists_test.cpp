// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "transport/operations.hpp"

namespace penstock::transport {
namespace {

Operations list_of(std::size_t first, std::size_t count) {
  Operations list(count);
  for (std::size_t i = 0; i < count; ++i) list[i].displacement = first + i;
  return list;
}

TEST(OperationLists, ComeInOrderAndAreUsedAgain) {
  OperationLists lists;
  std::vector<const void*> places;
  for (std::size_t epoch = 0; epoch < 10; ++epoch) {
    Operations list = list_of(epoch, 3);
    lists.push(list);
    EXPECT_TRUE(list.empty());
    const Operations& next = lists.next().operations;
    ASSERT_EQ(next.size(), 3U);
    EXPECT_EQ(next[2].displacement, epoch + 2);
    places.push_back(&next);
  }
  EXPECT_EQ(places[4], places[2]);  // two lists in turn carry all
}

TEST(OperationLists, OneTakenBackIsNeverSeen) {
  OperationLists lists;
  Operations list = list_of(1, 1);
  lists.push(list);
  list = list_of(2, 5);
  lists.push(list);
  lists.take_back(list);
  ASSERT_EQ(list.size(), 5U);
  EXPECT_EQ(list[0].displacement, 2U);
  list = list_of(3, 1);
  lists.push(list);
  EXPECT_EQ(lists.next().operations[0].displacement, 1U);
  EXPECT_EQ(lists.next().operations[0].displacement, 3U);
}

TEST(OperationLists, APromiseIsOfItsEpochAlone) {
  OperationLists lists;
  for (const Promise promise : {Promise::taken, Promise::none, Promise::checked, Promise::none}) {
    Operations list = list_of(1, 1);
    lists.push(list, promise);
    EXPECT_EQ(lists.next().promise, promise);
  }
}

TEST(OperationLists, OneThreadPushesWhileAnotherTakes) {
  constexpr std::size_t epochs = 100000;
  OperationLists lists;
  std::atomic<std::size_t> pushed{0};
  std::thread taker([&] {
    for (std::size_t epoch = 0; epoch < epochs; ++epoch) {
      while (pushed.load(std::memory_order_acquire) <= epoch) std::this_thread::yield();
      const Operations& list = lists.next().operations;
      ASSERT_EQ(list.size(), epoch % 7);
      for (std::size_t i = 0; i < list.size(); ++i) ASSERT_EQ(list[i].displacement, epoch + i);
    }
  });
  for (std::size_t epoch = 0; epoch < epochs; ++epoch) {
    Operations list = list_of(epoch, epoch % 7);
    lists.push(list);
    pushed.store(epoch + 1, std::memory_order_release);
  }
  taker.join();
}

}  // namespace
}  // namespace penstock::transport
