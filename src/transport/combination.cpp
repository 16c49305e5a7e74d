// SPDX-License-Identifier: Apache-2.0
#include "transport/combination.hpp"

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "transport/reduce.hpp"

namespace penstock::transport {

namespace {

using enum Reduction;

template <class T>
T load(const std::byte* from, std::size_t index) noexcept {
  T value;
  std::memcpy(&value, from + index * sizeof value, sizeof value);
  return value;
}
template <class T>
void store(std::byte* to, std::size_t index, T value) noexcept {
  std::memcpy(to + index * sizeof value, &value, sizeof value);
}

void copy(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  if (bytes != 0) std::memcpy(to, from, bytes);
}

template <class T>
void widen_all(std::byte* __restrict__ sum, const std::byte* __restrict__ value,
               std::size_t bytes) noexcept {
  for (std::size_t i = 0; i < bytes / sizeof(T); ++i) store(sum, i, widen(load<T>(value, i)));
}

template <class T>
void narrow_all(std::byte* __restrict__ result, const std::byte* __restrict__ sum,
                std::size_t bytes) noexcept {
  for (std::size_t i = 0; i < bytes / sizeof(T); ++i)
    store(result, i, narrow<T>(load<Wide<T>>(sum, i)));
}

// A loop without a choice in it.
template <class T, Reduction reduction>
void combine(std::byte* __restrict__ sum, const std::byte* __restrict__ value,
             std::size_t bytes) noexcept {
  for (std::size_t i = 0; i < bytes / sizeof(T); ++i)
    store(sum, i, reduce(reduction, load<Wide<T>>(sum, i), widen(load<T>(value, i))));
}

template <class T>
Combiner::Step step_of(Reduction reduction) noexcept {
  if (reduction == sum) return combine<T, sum>;
  if (reduction == product) return combine<T, product>;
  return reduction == min ? combine<T, min> : combine<T, max>;
}

// A sign matters to the least and the greatest alone.
template <class T>
Combiner::Step integer_step_of(Reduction reduction) noexcept {
  using Bits = std::make_unsigned_t<T>;
  switch (reduction) {
    case min:
    case max:
      return step_of<T>(reduction);
    case bit_and:
      return combine<Bits, bit_and>;
    case bit_or:
      return combine<Bits, bit_or>;
    case bit_xor:
      return combine<Bits, bit_xor>;
    case logical_and:
      return combine<Bits, logical_and>;
    case logical_or:
      return combine<Bits, logical_or>;
    case logical_xor:
      return combine<Bits, logical_xor>;
    default:
      return step_of<Bits>(reduction);
  }
}

template <class T>
Combiner combiner_as(Combiner::Step next) noexcept {
  if constexpr (std::is_same_v<Wide<T>, T>)
    return {copy, next, copy};
  else
    return {widen_all<T>, next, narrow_all<T>};
}

template <class T>
Combiner combiner_of_type(Reduction reduction) noexcept {
  if constexpr (std::is_integral_v<T>)
    return combiner_as<T>(integer_step_of<T>(reduction));
  else
    return combiner_as<T>(step_of<T>(reduction));
}

}  // namespace

Combiner combiner_of(const Combination& combination) noexcept {
  const Reduction reduction = combination.reduction;
  switch (combination.element) {
    case Element::int8:
      return combiner_of_type<std::int8_t>(reduction);
    case Element::uint8:
      return combiner_of_type<std::uint8_t>(reduction);
    case Element::int16:
      return combiner_of_type<std::int16_t>(reduction);
    case Element::uint16:
      return combiner_of_type<std::uint16_t>(reduction);
    case Element::int32:
      return combiner_of_type<std::int32_t>(reduction);
    case Element::uint32:
      return combiner_of_type<std::uint32_t>(reduction);
    case Element::int64:
      return combiner_of_type<std::int64_t>(reduction);
    case Element::uint64:
      return combiner_of_type<std::uint64_t>(reduction);
    case Element::float16:
      return combiner_of_type<Float16>(reduction);
    case Element::bfloat16:
      return combiner_of_type<BFloat16>(reduction);
    case Element::float32:
      return combiner_of_type<float>(reduction);
    case Element::float64:
      break;
  }
  return combiner_of_type<double>(reduction);
}

}  // namespace penstock::transport
