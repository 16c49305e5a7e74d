// SPDX-License-Identifier: Apache-2.0
#include "core/handle_table.hpp"

#include <gtest/gtest.h>

#include <set>

namespace penstock::core {
namespace {

TEST(HandleTable, FindsLiveHandlesOnly) {
  HandleTable<int> table;
  EXPECT_EQ(table.find(0), nullptr);
  EXPECT_EQ(table.find(0xdeadbeef), nullptr);
  const auto handle = table.insert(std::make_shared<int>(5));
  ASSERT_NE(handle, 0u);
  ASSERT_NE(table.find(handle), nullptr);
  EXPECT_EQ(*table.find(handle), 5);
  EXPECT_EQ(*table.remove(handle), 5);
  EXPECT_EQ(table.find(handle), nullptr);
  EXPECT_EQ(table.remove(handle), nullptr);
}

TEST(HandleTable, AFreedHandleIsNotTheNextOne) {
  HandleTable<int> table;
  std::set<std::uintptr_t> seen;
  for (int use = 0; use < 1000; ++use) {
    const auto handle = table.insert(std::make_shared<int>(use));
    EXPECT_TRUE(seen.insert(handle).second);
    table.remove(handle);
  }
  for (const auto handle : seen) EXPECT_EQ(table.find(handle), nullptr);
}

TEST(HandleTable, KnowsNoHandleOfAnotherKind) {
  HandleTable<int> streams(1), queues(2);
  const auto stream = streams.insert(std::make_shared<int>(1));
  const auto queue = queues.insert(std::make_shared<int>(2));
  EXPECT_NE(stream, queue);
  EXPECT_EQ(*streams.find(stream), 1);
  EXPECT_EQ(*queues.find(queue), 2);
  EXPECT_EQ(streams.find(queue), nullptr);
  EXPECT_EQ(queues.find(stream), nullptr);
  EXPECT_EQ(queues.remove(stream), nullptr);
}

TEST(HandleTable, SaysWhenItIsFull) {
  HandleTable<int> table;
  const auto object = std::make_shared<int>(0);
  for (int i = 0; i < 65536; ++i) ASSERT_NE(table.insert(object), 0u);
  EXPECT_EQ(table.insert(object), 0u);
}

}  // namespace
}  // namespace penstock::core
