// SPDX-License-Identifier: Apache-2.0
#include "datatype/signature.hpp"

#include <gtest/gtest.h>

namespace penstock::datatype {
namespace {

Signature ints(std::uint64_t count) {
  return {ElementKind::integer, 4, count};
}
Signature doubles(std::uint64_t count) {
  return {ElementKind::floating, 8, count};
}
Signature joined(Signature first, const Signature& second) {
  first.append(second);
  return first;
}
Signature times(Signature signature, std::uint64_t count) {
  signature.repeat(count);
  return signature;
}

void expect_alike(const Signature& one, const Signature& other) {
  EXPECT_EQ(Signature::difference(one, other), std::nullopt);
  EXPECT_EQ(Signature::difference(other, one), std::nullopt);
}
void expect_different(const Signature& send, const Signature& receive, const std::string& text) {
  const auto found = Signature::difference(send, receive);
  ASSERT_TRUE(found);
  EXPECT_NE(found->find(text), std::string::npos) << *found;
}

TEST(Signature, CountsElementsHoweverTheyAreGrouped) {
  expect_alike(ints(6), times(ints(2), 3));
  expect_alike(joined(ints(1), ints(5)), ints(6));
  const Signature pair = joined(ints(1), doubles(2));
  expect_alike(times(pair, 6), joined(times(pair, 2), times(pair, 4)));
  expect_alike(times(pair, 3), joined(joined(ints(1), doubles(2)), joined(pair, pair)));
  expect_alike(times(times(pair, 2), 3), times(pair, 6));
}

TEST(Signature, AReceiveMayHaveMore) {
  const Signature pair = joined(ints(1), doubles(2));
  EXPECT_EQ(Signature::difference(ints(3), ints(5)), std::nullopt);
  EXPECT_EQ(Signature::difference(times(pair, 3), times(pair, 5)), std::nullopt);
  EXPECT_EQ(Signature::difference(joined(pair, ints(1)), times(pair, 2)), std::nullopt);
  EXPECT_EQ(Signature::difference(Signature(), ints(1)), std::nullopt);
}

TEST(Signature, TellsTheFirstElementThatDiffers) {
  expect_different(ints(2), doubles(1),
                   "element 0 is an integer of 4 bytes in the send and a "
                   "floating-point number of 8 bytes in the receive");
  expect_different(joined(ints(7), doubles(1)), ints(9), "element 7");
  const Signature pair = joined(ints(1), doubles(2));
  expect_different(times(pair, 5), joined(times(pair, 4), doubles(1)), "element 12");
  expect_different(Signature(ElementKind::integer, 8), ints(2), "of 8 bytes in the send");
}

TEST(Signature, BytesMayBeAnything) {
  expect_alike(Signature::of_anything(), doubles(3));
  expect_alike(joined(ints(1), Signature::of_anything()), doubles(3));
  expect_alike(times(Signature::of_anything(), 3), ints(1));
}

TEST(Signature, WhatIsTooIrregularSaysNothing) {
  Signature irregular;
  for (std::uint64_t i = 1; i <= 3000; ++i) irregular.append(joined(ints(i), doubles(1)));
  expect_alike(irregular, doubles(1));
  EXPECT_TRUE(irregular.to_bytes().empty());
}

TEST(Signature, ManyRepetitionsAreComparedWithoutWalkingAll) {
  const Signature pair = joined(ints(1), doubles(2));
  const std::uint64_t many = std::uint64_t{1} << 40;
  expect_alike(times(pair, many), times(pair, many));
  expect_alike(times(pair, many), times(joined(pair, pair), many / 2));
}

TEST(Signature, Travels) {
  const Signature pair = joined(ints(1), doubles(2));
  for (const Signature& each : {Signature(), ints(3), times(pair, 9)})
    EXPECT_EQ(Signature::from_bytes(each.to_bytes()).to_bytes(), each.to_bytes());
  expect_different(Signature::from_bytes(times(pair, 9).to_bytes()), ints(2), "element 1");
  expect_alike(Signature::from_bytes({}), pair);
}

}  // namespace
}  // namespace penstock::datatype
