// SPDX-License-Identifier: Apache-2.0
// How kernels combine values: those of eight bytes at a time, whatever their type.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/host_device.hpp"
#include "transport/combination.hpp"
#include "transport/reduce.hpp"

namespace penstock::transport {

// What has been combined of the values in a word: halves are floats here, so that they are rounded
// once.
struct WordSum {
  std::uint64_t word[2];
};

// A word or a WordSum as its values.
template <class T>
struct WordValues {
  static constexpr int count = sizeof(std::uint64_t) / sizeof(T);
  T value[count];
  Wide<T> wide[count];

  PENSTOCK_HD explicit WordValues(std::uint64_t word) {
    memcpy(value, &word, sizeof word);
    for (int i = 0; i < count; ++i) wide[i] = widen(value[i]);
  }
  PENSTOCK_HD explicit WordValues(WordSum sum) { memcpy(wide, sum.word, sizeof wide); }

  PENSTOCK_HD WordSum sum() const {
    WordSum sum{};
    memcpy(sum.word, wide, sizeof wide);
    return sum;
  }
  PENSTOCK_HD std::uint64_t word() {
    for (int i = 0; i < count; ++i) value[i] = narrow<T>(wide[i]);
    std::uint64_t word;
    memcpy(&word, value, sizeof word);
    return word;
  }
};

template <class T>
PENSTOCK_HD WordSum next_of(Reduction reduction, WordSum sum, std::uint64_t word) {
  WordValues<T> all(sum);
  const WordValues<T> next(word);
  for (int i = 0; i < all.count; ++i) all.wide[i] = reduce(reduction, all.wide[i], next.wide[i]);
  return all.sum();
}

// Integers of `bits` bits, each as one of eight bytes with the same sign.
template <class Widest>
PENSTOCK_HD WordSum next_integers(Reduction reduction, unsigned bits, WordSum sum,
                                  std::uint64_t word) {
  const unsigned above = 64 - bits;
  std::uint64_t all = 0;
  for (unsigned at = 0; at < 64; at += bits) {
    const auto first = static_cast<Widest>(sum.word[0] << (above - at)) >> above;
    const auto next = static_cast<Widest>(word << (above - at)) >> above;
    const auto result = static_cast<std::uint64_t>(reduce<Widest>(reduction, first, next));
    all |= result << above >> (above - at);
  }
  return {{all, 0}};
}

// Every operation on every type, in little code.
PENSTOCK_HD_APART WordSum next_of_any(Combination combination, WordSum sum, std::uint64_t word) {
  const Reduction reduction = combination.reduction;
  const auto bits = static_cast<unsigned>(8 * bytes_of(combination.element));
  switch (combination.element) {
    case Element::int8:
    case Element::int16:
    case Element::int32:
    case Element::int64:
      return next_integers<std::int64_t>(reduction, bits, sum, word);
    case Element::uint8:
    case Element::uint16:
    case Element::uint32:
    case Element::uint64:
      return next_integers<std::uint64_t>(reduction, bits, sum, word);
    case Element::float16:
      return next_of<Float16>(reduction, sum, word);
    case Element::bfloat16:
      return next_of<BFloat16>(reduction, sum, word);
    case Element::float32:
      return next_of<float>(reduction, sum, word);
    case Element::float64:
      break;
  }
  return next_of<double>(reduction, sum, word);
}

PENSTOCK_HD inline WordSum first_word(Combination combination, std::uint64_t word) {
  if (combination.element == Element::float16) return WordValues<Float16>(word).sum();
  if (combination.element == Element::bfloat16) return WordValues<BFloat16>(word).sum();
  return {{word, 0}};
}

// Sums of these have code of their own.
PENSTOCK_HD inline WordSum next_word(Combination combination, WordSum sum, std::uint64_t word) {
  constexpr Reduction adds = Reduction::sum;
  if (combination.reduction != adds) return next_of_any(combination, sum, word);
  switch (combination.element) {
    case Element::int32:
    case Element::uint32:
      return next_of<std::uint32_t>(adds, sum, word);
    case Element::int64:
    case Element::uint64:
      return {{sum.word[0] + word, 0}};
    case Element::float16:
      return next_of<Float16>(adds, sum, word);
    case Element::bfloat16:
      return next_of<BFloat16>(adds, sum, word);
    case Element::float32:
      return next_of<float>(adds, sum, word);
    case Element::float64:
      return next_of<double>(adds, sum, word);
    default:
      return next_of_any(combination, sum, word);
  }
}

PENSTOCK_HD inline std::uint64_t last_word(Combination combination, WordSum sum) {
  if (combination.element == Element::float16) return WordValues<Float16>(sum).word();
  if (combination.element == Element::bfloat16) return WordValues<BFloat16>(sum).word();
  return sum.word[0];
}

PENSTOCK_HD_APART std::uint64_t combine_any(Combination combination, std::uint64_t first,
                                            std::uint64_t second) {
  return last_word(combination, next_word(combination, first_word(combination, first), second));
}

// Of two values each. The sums that programs wait for most are no call.
PENSTOCK_HD inline std::uint64_t combine_words(Combination combination, std::uint64_t first,
                                               std::uint64_t second) {
  const WordSum sum{{first, 0}};
  if (combination.reduction == Reduction::sum) {
    if (combination.element == Element::float32)
      return next_of<float>(Reduction::sum, sum, second).word[0];
    if (combination.element == Element::float64)
      return next_of<double>(Reduction::sum, sum, second).word[0];
  }
  return combine_any(combination, first, second);
}

}  // namespace penstock::transport
