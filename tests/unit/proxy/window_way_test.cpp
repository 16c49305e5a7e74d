// SPDX-License-Identifier: Apache-2.0
// Which epochs are small, how many posts each waits for, and what of the others goes apart.
#include "proxy/window_way.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace penstock::proxy {
namespace {

using transport::Element;
using transport::Operation;
using transport::Operations;
using transport::Reduction;
using transport::Verb;

Operation put(std::size_t bytes) {
  return {Verb::put, {}, {}, nullptr, bytes, 0};
}
Operation get(std::size_t bytes) {
  return {Verb::get, {}, {}, nullptr, bytes, 0};
}
Operation add(std::size_t bytes) {
  return {Verb::accumulate, Reduction::sum, Element::int32, nullptr, bytes, 0};
}

TEST(WindowWay, SmallEpochsFitTheirPage) {
  EXPECT_TRUE(is_small({}, 0));
  EXPECT_FALSE(is_small({put(0)}, 0));
  EXPECT_TRUE(is_small({put(8)}, 32));
  EXPECT_FALSE(is_small({put(9)}, 32));
  EXPECT_TRUE(is_small({put(8), add(4)}, 64));
  EXPECT_FALSE(is_small({put(8), add(4)}, 56));
  EXPECT_FALSE(is_small({get(1)}, 1000));
  EXPECT_TRUE(is_small({get(0)}, 1000));
}

// The origin begins epoch e when so many posts have come; the target has waited for the one before
// the last of them.
TEST(WindowWay, SmallEpochsAreAheadOfTheWaitsByThePagesAlone) {
  for (protocol::Epoch epoch = 1; epoch < 20; ++epoch) {
    EXPECT_EQ(posts_needed(epoch, false), epoch);
    const protocol::Epoch posts = posts_needed(epoch, true);
    const protocol::Epoch waited = posts == 0 ? 0 : posts - 1;
    EXPECT_LE(posts, epoch);
    EXPECT_LE(epoch - waited, window_pages);
    EXPECT_TRUE(posts == 0 || epoch - waited == window_pages);
  }
}

struct Part {
  Verb verb;
  std::size_t bytes, displacement;
  bool apart;
  bool operator==(const Part&) const = default;
};

std::vector<Part> parts_of(const Operations& list, bool small) {
  std::vector<Part> parts;
  Pieces pieces;
  for (pieces.begin(list, small); !pieces.done(); pieces.next()) {
    const Operation piece = pieces.piece();
    parts.push_back({piece.verb, piece.bytes, piece.displacement, pieces.apart()});
  }
  return parts;
}

TEST(WindowWay, LargePutsAndGetsGoApart) {
  constexpr std::size_t most = Pieces::most_in_page;
  const Operations list{put(most), put(most + 1), get(1), get(0), add(100 * most), put(0)};
  const std::vector<Part> expected{{Verb::put, most, 0, false},
                                   {Verb::put, most + 1, 0, true},
                                   {Verb::get, 1, 0, true},
                                   {Verb::get, 0, 0, false},
                                   {Verb::accumulate, 100 * most, 0, false},
                                   {Verb::put, 0, 0, false}};
  EXPECT_EQ(parts_of(list, false), expected);
  EXPECT_EQ(parts_of({put(most + 1)}, true), (std::vector<Part>{{Verb::put, most + 1, 0, false}}));
}

// Of addresses alone: nothing is read there.
TEST(WindowWay, WhatMpiCannotCountGoesInPieces) {
  constexpr std::size_t most = Pieces::most_apart;
  Operation large = put(2 * most + 5);
  large.displacement = 24;
  const std::vector<Part> expected{{Verb::put, most, 24, true},
                                   {Verb::put, most, 24 + most, true},
                                   {Verb::put, 5, 24 + 2 * most, true},
                                   {Verb::get, 3, 0, true}};
  EXPECT_EQ(parts_of({large, get(3)}, false), expected);
  Pieces pieces;
  std::byte origin{};
  large.origin = &origin;
  const Operations list{large};
  pieces.begin(list, false);
  pieces.next();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pieces.piece().origin),
            reinterpret_cast<std::uintptr_t>(&origin) + most);
}

TEST(WindowWay, TwoWalksMeet) {
  const Operations list{put(8), get(Pieces::most_apart + 1), put(1)};
  Pieces ahead, behind;
  ahead.begin(list, false);
  behind = ahead;
  EXPECT_TRUE(behind.is_at(ahead));
  for (ahead.next(); !ahead.done(); ahead.next()) EXPECT_FALSE(behind.is_at(ahead));
  while (!behind.is_at(ahead)) behind.next();
  EXPECT_TRUE(behind.done());
}

}  // namespace
}  // namespace penstock::proxy
