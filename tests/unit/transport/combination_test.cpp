// SPDX-License-Identifier: Apache-2.0
// Every operation on every type, by the host's loops and by the words that kernels combine: the
// bits of a serial loop over the values.
#include "transport/combination.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "transport/word_sum.hpp"

namespace penstock::transport {
namespace {

using enum Reduction;

constexpr Reduction arithmetic[] = {sum, product, min, max};
constexpr Reduction of_bits[] = {bit_and, bit_or, bit_xor, logical_and, logical_or, logical_xor};

template <class T>
T serial(Reduction reduction, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    const auto wide = [](T value) { return static_cast<unsigned long long>(value); };
    if (reduction == sum) return static_cast<T>(wide(a) + wide(b));
    if (reduction == product) return static_cast<T>(wide(a) * wide(b));
    if (reduction == bit_and) return static_cast<T>(a & b);
    if (reduction == bit_or) return static_cast<T>(a | b);
    if (reduction == bit_xor) return static_cast<T>(a ^ b);
    if (reduction == logical_and) return static_cast<T>(a != 0 && b != 0);
    if (reduction == logical_or) return static_cast<T>(a != 0 || b != 0);
    if (reduction == logical_xor) return static_cast<T>((a != 0) != (b != 0));
  } else {
    if (reduction == sum) return a + b;
    if (reduction == product) return a * b;
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
    if (a == b) return std::signbit(a) == (reduction == min) ? a : b;
  }
  return reduction == min ? std::min(a, b) : std::max(a, b);
}

template <class T>
T bits_of_random(std::mt19937_64& random) {
  const std::uint64_t bits = random();
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// Any bits, with many zeros; of the numbers that have them no NaN in sums, as of two any may win.
template <class T>
std::vector<T> some_values(std::size_t count, Reduction reduction, std::mt19937_64& random) {
  std::vector<T> values(count);
  for (T& value : values) {
    do value = random() % 4 == 0 ? T{} : bits_of_random<T>(random);
    while (reduction != min && reduction != max && widen(value) != widen(value));
  }
  return values;
}

// A sum of infinities may be one.
template <class T>
bool same(T value, T expected) {
  const bool nans = widen(value) != widen(value) && widen(expected) != widen(expected);
  return nans || std::memcmp(&value, &expected, sizeof value) == 0;
}

template <class T>
using Lists = std::vector<std::vector<T>>;

template <class T>
std::vector<T> expected_of(Reduction reduction, const Lists<T>& lists) {
  std::vector<T> results;
  for (std::size_t i = 0; i < lists.front().size(); ++i) {
    Wide<T> all = widen(lists.front()[i]);
    for (std::size_t from = 1; from < lists.size(); ++from)
      all = serial<Wide<T>>(reduction, all, widen(lists[from][i]));
    results.push_back(narrow<T>(all));
  }
  return results;
}

// Everything at odd addresses.
template <class T>
std::vector<T> by_loops(const Combination& combination, const Lists<T>& lists) {
  const std::size_t bytes = lists.front().size() * sizeof(T);
  const Combiner combiner = combiner_of(combination);
  std::vector<std::byte> value(bytes + 1), sum(2 * bytes + 1);
  Combiner::Step step = combiner.first;
  for (const std::vector<T>& list : lists) {
    std::copy_n(reinterpret_cast<const std::byte*>(list.data()), bytes, value.data() + 1);
    step(sum.data() + 1, value.data() + 1, bytes);
    step = combiner.next;
  }
  combiner.last(value.data() + 1, sum.data() + 1, bytes);
  std::vector<T> results(lists.front().size());
  std::copy_n(value.data() + 1, bytes, reinterpret_cast<std::byte*>(results.data()));
  return results;
}

using NextWord = WordSum (*)(Combination, WordSum, std::uint64_t);

template <class T>
std::vector<T> by_words(const Combination& combination, const Lists<T>& lists, NextWord next) {
  std::vector<T> results(lists.front().size());
  constexpr std::size_t each = sizeof(std::uint64_t) / sizeof(T);
  for (std::size_t at = 0; at < results.size(); at += each) {
    const std::size_t bytes = std::min(each, results.size() - at) * sizeof(T);
    const auto load = [&](const std::vector<T>& list) {
      std::uint64_t word = 0;
      std::memcpy(&word, &list[at], bytes);
      return word;
    };
    WordSum sum = first_word(combination, load(lists.front()));
    for (std::size_t from = 1; from < lists.size(); ++from)
      sum = next(combination, sum, load(lists[from]));
    const std::uint64_t word = last_word(combination, sum);
    std::memcpy(&results[at], &word, bytes);
  }
  return results;
}

template <class T>
void expect_results(Element element, Reduction reduction) {
  std::mt19937_64 random(static_cast<unsigned>(element) * 100 + static_cast<unsigned>(reduction));
  const Combination combination{reduction, element};
  EXPECT_EQ(bytes_of(element), sizeof(T));
  for (const std::size_t members : {1, 2, 3, 5})
    for (const std::size_t count : {0, 1, 7, 301}) {
      Lists<T> lists;
      for (std::size_t i = 0; i < members; ++i)
        lists.push_back(some_values<T>(count, reduction, random));
      const std::vector<T> expected = expected_of(reduction, lists);
      for (const std::vector<T>& results :
           {by_loops(combination, lists), by_words(combination, lists, next_word),
            by_words(combination, lists, next_of_any)})
        EXPECT_TRUE(std::equal(results.begin(), results.end(), expected.begin(), same<T>))
            << "element " << static_cast<int>(element) << ", operation "
            << static_cast<int>(reduction) << ", " << members << " members, " << count;
    }
}

template <class T>
void expect_all(Element element) {
  for (const Reduction reduction : arithmetic) expect_results<T>(element, reduction);
  if constexpr (std::is_integral_v<T>)
    for (const Reduction reduction : of_bits) expect_results<T>(element, reduction);
}

TEST(Combination, EveryOperationOnEveryType) {
  expect_all<std::int8_t>(Element::int8);
  expect_all<std::uint8_t>(Element::uint8);
  expect_all<std::int16_t>(Element::int16);
  expect_all<std::uint16_t>(Element::uint16);
  expect_all<std::int32_t>(Element::int32);
  expect_all<std::uint32_t>(Element::uint32);
  expect_all<std::int64_t>(Element::int64);
  expect_all<std::uint64_t>(Element::uint64);
  expect_all<Float16>(Element::float16);
  expect_all<BFloat16>(Element::bfloat16);
  expect_all<float>(Element::float32);
  expect_all<double>(Element::float64);
}

// 2048 is the first half to which one adds nothing.
TEST(Combination, HalvesAreRoundedOnce) {
  const Lists<Float16> lists{{to_float16(2048)}, {to_float16(1)}, {to_float16(1)}};
  const Combination combination{sum, Element::float16};
  EXPECT_EQ(widen(by_loops(combination, lists)[0]), 2050.F);
  EXPECT_EQ(widen(by_words(combination, lists, next_word)[0]), 2050.F);
}

template <class T>
void expect_any_order(T a, T b) {
  for (const Reduction reduction : {min, max}) {
    const T one = reduce(reduction, a, b), other = reduce(reduction, b, a);
    EXPECT_EQ(std::memcmp(&one, &other, sizeof one), 0) << a << ", " << b;
  }
}

TEST(Combination, TheOrderDecidesNoMinimum) {
  const auto all_pairs = []<class T>(T) {
    const T infinity = std::numeric_limits<T>::infinity();
    const T nan = std::numeric_limits<T>::quiet_NaN();
    for (const T a : {T{0}, -T{0}, T{1}, infinity, -infinity, nan, -nan})
      for (const T b : {T{0}, -T{0}, T{1}, infinity, -infinity, nan, -nan}) {
        expect_any_order(a, b);
        if (std::isnan(a) || std::isnan(b)) {
          EXPECT_TRUE(std::isnan(reduce(min, a, b)) && std::isnan(reduce(max, a, b)));
        }
      }
    EXPECT_TRUE(std::signbit(reduce(min, T{0}, -T{0})));
    EXPECT_FALSE(std::signbit(reduce(max, -T{0}, T{0})));
  };
  all_pairs(float());
  all_pairs(double());
}

}  // namespace
}  // namespace penstock::transport
