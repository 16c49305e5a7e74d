// SPDX-License-Identifier: Apache-2.0
// MPI's order of matching, against a plain list that is searched from the front.
#include "core/matching/match_order.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <list>
#include <new>
#include <random>

#include "unit/support/scarce_memory.hpp"

namespace penstock::core {
namespace {

constexpr group::CommunicatorId world{1, 1};
constexpr group::CommunicatorId elsewhere{2, 2};

TEST(PostedReceives, GivesTheEarliestThatAccepts) {
  PostedReceives<int> posted;
  posted.post(posted.next_number(), {world, any_rank, 7}, 1);
  posted.post(posted.next_number(), {world, 3, 7}, 2);
  posted.post(posted.next_number(), {elsewhere, any_rank, any_tag}, 3);
  EXPECT_EQ(posted.take({world, 3, 7})->second, 1);
  EXPECT_EQ(posted.take({world, 3, 7})->second, 2);
  EXPECT_FALSE(posted.take({world, 3, 7}));
  EXPECT_EQ(posted.take({elsewhere, 0, 0})->second, 3);
}

TEST(PostedReceives, PutBackKeepsItsPlace) {
  PostedReceives<int> posted;
  posted.post(posted.next_number(), {world, 0, 0}, 1);
  posted.post(posted.next_number(), {world, 0, 0}, 2);
  const auto first = posted.take({world, 0, 0});
  posted.post(first->first, {world, 0, 0}, first->second);
  EXPECT_EQ(posted.take({world, 0, 0})->second, 1);
  EXPECT_EQ(posted.take({world, 0, 0})->second, 2);
}

TEST(PostedReceives, WithdrawTakesOutOne) {
  PostedReceives<int> posted;
  const auto first = posted.next_number();
  posted.post(first, {world, 0, 0}, 1);
  posted.post(posted.next_number(), {world, 0, 0}, 2);
  EXPECT_EQ(posted.withdraw({world, 0, 0}, first), 1);
  EXPECT_FALSE(posted.withdraw({world, 0, 0}, first));
  EXPECT_EQ(posted.take({world, 0, 0})->second, 2);
}

TEST(UnexpectedMessages, TakesOneByItsNumber) {
  UnexpectedMessages<int> messages;
  messages.add(messages.next_number(), {world, 1, 1}, 10);
  const auto second = messages.next_number();
  messages.add(second, {world, 1, 1}, 11);
  EXPECT_EQ(messages.take(second), 11);
  EXPECT_FALSE(messages.take(second));
  EXPECT_EQ(messages.take({world, any_rank, any_tag}), 10);
}

unsigned seed() {
  const char* text = std::getenv("PENSTOCK_TEST_SEED");
  return text ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : std::random_device{}();
}

struct Reference {
  std::list<std::pair<Envelope, int>> posted;
  std::list<std::pair<Envelope, int>> messages;

  template <class Accepts>
  static std::optional<int> take(std::list<std::pair<Envelope, int>>& list, Accepts&& accepts) {
    for (auto each = list.begin(); each != list.end(); ++each)
      if (accepts(each->first)) {
        const int item = each->second;
        list.erase(each);
        return item;
      }
    return std::nullopt;
  }
};

TEST(UnexpectedMessages, PutBackKeepsItsPlaceAmongAll) {
  UnexpectedMessages<int> messages;
  const auto first = messages.next_number();
  const auto second = messages.next_number();
  messages.add(first, {world, 1, 5}, 1);
  messages.add(messages.next_number(), {world, 1, 7}, 3);
  messages.add(second, {world, 1, 7}, 2);
  EXPECT_EQ(messages.take({world, 1, any_tag}), 1);
  EXPECT_EQ(messages.take({world, 1, 7}), 2);
  EXPECT_EQ(messages.take({world, any_rank, 7}), 3);
}

// Whether there was memory for it, when all but so many allocations fail.
template <class Put>
bool put_with(std::uint64_t allocations, Put put) {
  const ScarceMemory scarce(allocations);
  try {
    put();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// Nothing of it is left, which a later message would find.
TEST(MatchOrder, WhatThereWasNoMemoryForIsNotThere) {
  const Envelope envelope{world, 1, 2};
  for (std::uint64_t allocations = 0; allocations < 8; ++allocations) {
    SCOPED_TRACE(allocations);
    PostedReceives<int> posted;
    const bool is_posted =
        put_with(allocations, [&] { posted.post(posted.next_number(), envelope, 1); });
    EXPECT_EQ(posted.take(envelope).has_value(), is_posted);
    UnexpectedMessages<int> messages;
    const bool is_added =
        put_with(allocations, [&] { messages.add(messages.next_number(), envelope, 1); });
    EXPECT_EQ(messages.take(envelope).has_value(), is_added);
    EXPECT_FALSE(messages.take({world, any_rank, any_tag}).has_value());
  }
}

// Without memory for what finds them at once they are found one after the other.
TEST(MatchOrder, AWildcardNeedsNoMemory) {
  for (std::uint64_t allocations = 0; allocations < 16; ++allocations) {
    SCOPED_TRACE(allocations);
    UnexpectedMessages<int> messages;
    for (int tag = 0; tag < 3; ++tag) messages.add(messages.next_number(), {world, 1, tag}, tag);
    std::optional<int> first, second;
    EXPECT_TRUE(put_with(allocations, [&] {
      second = messages.take({world, any_rank, 1});
      first = messages.take({world, 1, any_tag});
    }));
    EXPECT_EQ(second, 1);
    EXPECT_EQ(first, 0);
    EXPECT_EQ(messages.take({world, 1, 2}), 2);
    EXPECT_FALSE(messages.take({world, any_rank, any_tag}));
  }
}

TEST(MatchOrder, AgreesWithASearchFromTheFront) {
  const unsigned start = seed();
  RecordProperty("seed", std::to_string(start));
  SCOPED_TRACE("PENSTOCK_TEST_SEED=" + std::to_string(start));
  std::mt19937 random(start);
  const auto below = [&](int limit) {
    return static_cast<int>(random() % static_cast<unsigned>(limit));
  };
  PostedReceives<int> posted;
  UnexpectedMessages<int> messages;
  Reference reference;
  for (int item = 0; item < 20000; ++item) {
    Envelope envelope{below(2) ? world : elsewhere, below(3), below(3)};
    if (below(2)) {  // a message
      const auto expected = Reference::take(
          reference.posted, [&](const Envelope& key) { return key.accepts(envelope); });
      const auto found = posted.take(envelope);
      ASSERT_EQ(found.has_value(), expected.has_value());
      if (expected) {
        ASSERT_EQ(found->second, *expected);
      } else {
        messages.add(messages.next_number(), envelope, item);
        reference.messages.emplace_back(envelope, item);
      }
    } else {  // a receive
      if (below(4) == 0) envelope.source = any_rank;
      if (below(4) == 0) envelope.tag = any_tag;
      const auto expected = Reference::take(
          reference.messages, [&](const Envelope& message) { return envelope.accepts(message); });
      ASSERT_EQ(messages.take(envelope), expected);
      if (!expected) {
        posted.post(posted.next_number(), envelope, item);
        reference.posted.emplace_back(envelope, item);
      }
    }
  }
}

}  // namespace
}  // namespace penstock::core
