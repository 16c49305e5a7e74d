// SPDX-License-Identifier: Apache-2.0
#include "plan/active_list.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace penstock::plan {
namespace {

struct Item : ActiveItem {
  explicit Item(std::size_t its_number) : number(its_number) {}
  const std::size_t number;
};

class ActiveListTest : public ::testing::Test {
 protected:
  void SetUp() override {
    list.reserve(100);
    for (std::size_t i = 0; i < 100; ++i) {
      items.push_back(std::make_unique<Item>(i));
      list.add(*items.back());
    }
  }
  // The numbers of those that a pass looks at.
  std::vector<std::size_t> pass() {
    std::vector<std::size_t> seen;
    list.move_some([&](Item& item) {
      seen.push_back(item.number);
      return false;
    });
    return seen;
  }

  std::vector<std::unique_ptr<Item>> items;
  ActiveList<Item> list;
};

TEST_F(ActiveListTest, PassesTakeTurns) {
  std::vector<std::size_t> seen = pass();
  EXPECT_LT(seen.size(), items.size());
  while (seen.size() < items.size())
    for (const std::size_t number : pass()) seen.push_back(number);
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], i % items.size());
}

// An item that has ended is destroyed by its own move: under AddressSanitizer nothing looks at it
// afterwards.
TEST_F(ActiveListTest, ItemsAreDestroyedWhileTheyAreMoved) {
  int moves = 0;
  while (!list.empty()) {
    const std::size_t before = list.size();
    EXPECT_TRUE(list.move_some([&](Item& item) {
      if (++moves % 3 == 0) return false;
      list.remove(item);
      items[item.number].reset();
      return true;
    }));
    EXPECT_LT(list.size(), before);
  }
  for (const auto& item : items) EXPECT_EQ(item, nullptr);
}

// As when a notice that comes with one operation ends others.
TEST_F(ActiveListTest, OthersLeaveWhileOneIsMoved) {
  std::vector<std::size_t> seen;
  list.move_some([&](Item& item) {
    seen.push_back(item.number);
    if (list.size() > 1)
      for (std::size_t i = 1; i < items.size(); ++i) list.remove(*items[i]);
    return true;
  });
  for (const std::size_t number : seen) EXPECT_EQ(number, 0u);
  EXPECT_EQ(list.size(), 1u);
}

TEST_F(ActiveListTest, AVisitReachesAllThatStay) {
  std::vector<bool> seen(items.size());
  list.visit_all([&](Item& item) {
    seen[item.number] = true;
    Item& other = *items[(item.number + 50) % items.size()];
    if (item.number % 3 == 0) list.remove(item);
    if (item.number % 7 == 0 && other.active) list.remove(other);
  });
  EXPECT_LT(list.size(), items.size());
  for (const Item* item : list) EXPECT_TRUE(seen[item->number]) << item->number;
}

}  // namespace
}  // namespace penstock::plan
