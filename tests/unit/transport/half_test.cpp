// SPDX-License-Identifier: Apache-2.0
// Every half, and the floats between two of them.
#include "transport/half.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace penstock::transport {
namespace {

// As the formats' definitions have it. Not of the greatest exponent.
float value_of(unsigned bits, int exponent_bits, int fraction_bits) {
  const unsigned fraction = bits & ((1U << fraction_bits) - 1);
  const int exponent = static_cast<int>(bits >> fraction_bits & ((1U << exponent_bits) - 1));
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const unsigned whole = exponent == 0 ? fraction : fraction + (1U << fraction_bits);
  const float size =
      std::ldexp(static_cast<float>(whole), std::max(exponent, 1) - bias - fraction_bits);
  return bits >> 15 != 0 ? -size : size;
}

template <class Half>
struct Format;
template <>
struct Format<Float16> {
  static constexpr int exponent_bits = 5, fraction_bits = 10;
};
template <>
struct Format<BFloat16> {
  static constexpr int exponent_bits = 8, fraction_bits = 7;
};

template <class Half>
class Halves : public ::testing::Test {
 protected:
  static constexpr unsigned infinity = 0x8000U - (1U << Format<Half>::fraction_bits);
  static Half half(unsigned bits) { return {static_cast<std::uint16_t>(bits)}; }
  static unsigned rounded(float value) { return narrow<Half>(value).bits; }
};
using BothHalves = ::testing::Types<Float16, BFloat16>;
TYPED_TEST_SUITE(Halves, BothHalves);

TYPED_TEST(Halves, EachComesBackFromItsFloat) {
  std::size_t wrong = 0;
  for (unsigned bits = 0; bits < 0x10000U; ++bits) {
    const unsigned size = bits & 0x7fffU;
    const float wide = widen(this->half(bits));
    if (size > this->infinity) {
      const unsigned back = this->rounded(wide);
      wrong += !std::isnan(wide) || (back & 0x7fffU) <= this->infinity;
      continue;
    }
    const float expected =
        size < this->infinity
            ? value_of(bits, Format<TypeParam>::exponent_bits, Format<TypeParam>::fraction_bits)
            : std::copysign(std::numeric_limits<float>::infinity(), bits >> 15 != 0 ? -1.F : 1.F);
    wrong += bits_as<std::uint32_t>(wide) != bits_as<std::uint32_t>(expected) ||
             this->rounded(wide) != bits;
  }
  EXPECT_EQ(wrong, 0U);
}

// Of all halves but the last, with the next greater one: the float in the middle becomes the even
// one, its neighbours the nearest.
TYPED_TEST(Halves, FloatsInBetweenBecomeTheNearest) {
  std::size_t wrong = 0;
  for (const unsigned sign : {0U, 0x8000U})
    for (unsigned size = 0; size + 1 < this->infinity; ++size) {
      const unsigned low = sign | size, high = low + 1;
      // Exact: a float has more bits of fraction than both.
      const float middle = (widen(this->half(low)) / 2) + (widen(this->half(high)) / 2);
      const float below = std::nextafter(middle, 0.F);
      const float above = std::nextafter(middle, 2 * middle);
      wrong += this->rounded(middle) != (size % 2 == 0 ? low : high);
      wrong += this->rounded(below) != low;
      wrong += this->rounded(above) != high;
    }
  EXPECT_EQ(wrong, 0U);
}

TYPED_TEST(Halves, WhatIsBeyondTheLastBecomesInfinite) {
  const float last = widen(this->half(this->infinity - 1));
  const float step = last - widen(this->half(this->infinity - 2));
  const float middle = last + step / 2;
  EXPECT_EQ(this->rounded(std::nextafter(middle, 0.F)), this->infinity - 1);
  EXPECT_EQ(this->rounded(middle), this->infinity);
  EXPECT_EQ(this->rounded(-middle), 0x8000U | this->infinity);
  EXPECT_EQ(this->rounded(std::numeric_limits<float>::max()), this->infinity);
  EXPECT_EQ(this->rounded(std::numeric_limits<float>::infinity()), this->infinity);
}

TYPED_TEST(Halves, NoNanBecomesInfinite) {
  for (const std::uint32_t bits : {0x7f800001U, 0x7fc00000U, 0x7fffffffU, 0xff800001U, 0xffffffffU})
    EXPECT_GT(this->rounded(bits_as<float>(bits)) & 0x7fffU, this->infinity) << bits;
}

TYPED_TEST(Halves, WhatIsLessThanTheFirstBecomesZero) {
  const float first = widen(this->half(1));
  EXPECT_EQ(this->rounded(first / 2), 0U);
  EXPECT_EQ(this->rounded(-first / 2), 0x8000U);
  EXPECT_EQ(this->rounded(std::nextafter(first / 2, 1.F)), 1U);
  EXPECT_EQ(this->rounded(std::numeric_limits<float>::denorm_min()), 0U);
}

}  // namespace
}  // namespace penstock::transport
