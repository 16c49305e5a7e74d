// SPDX-License-Identifier: Apache-2.0
#include "transport/combination.hpp"

#include <cstdint>
#include <cstring>

#include "transport/reduce.hpp"

namespace penstock::transport {

namespace {

// A loop without a choice in it. The two do not overlap.
template <class T, Reduction reduction>
void combine(std::byte* __restrict__ result, const std::byte* __restrict__ values,
             std::size_t bytes) noexcept {
  for (std::size_t at = 0; at < bytes; at += sizeof(T)) {
    T first, next;
    std::memcpy(&first, result + at, sizeof first);
    std::memcpy(&next, values + at, sizeof next);
    first = reduce(reduction, first, next);
    std::memcpy(result + at, &first, sizeof first);
  }
}

template <class T>
Combine combine_by(Reduction reduction) noexcept {
  switch (reduction) {
    case Reduction::replace:
      return combine<T, Reduction::replace>;
    case Reduction::sum:
      return combine<T, Reduction::sum>;
    case Reduction::product:
      return combine<T, Reduction::product>;
    case Reduction::min:
      return combine<T, Reduction::min>;
    case Reduction::max:
      return combine<T, Reduction::max>;
    case Reduction::bit_and:
      return combine<T, Reduction::bit_and>;
    case Reduction::bit_or:
      return combine<T, Reduction::bit_or>;
    case Reduction::bit_xor:
      break;
  }
  return combine<T, Reduction::bit_xor>;
}

}  // namespace

Combine combine_of(const Combination& combination) noexcept {
  switch (combination.element) {
    case Element::int32:
      return combine_by<std::int32_t>(combination.reduction);
    case Element::uint32:
      return combine_by<std::uint32_t>(combination.reduction);
    case Element::int64:
      return combine_by<std::int64_t>(combination.reduction);
    case Element::uint64:
      return combine_by<std::uint64_t>(combination.reduction);
    case Element::float32:
      return combine_by<float>(combination.reduction);
    case Element::float64:
      break;
  }
  return combine_by<double>(combination.reduction);
}

}  // namespace penstock::transport
