// SPDX-License-Identifier: Apache-2.0
// What an operation makes of two values, on the host and on GPUs. Those of halves are floats then
// (transport/half.hpp).
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/host_device.hpp"
#include "transport/half.hpp"
#include "transport/operations.hpp"

namespace penstock::transport {

// The lesser or the greater one. Of floating-point numbers NaN wins, which is always the same then,
// and -0 is less than 0: the order of the values decides nothing.
template <class T>
PENSTOCK_HD T extreme(bool lesser, T first, T next) noexcept {
  T result = (first < next) == lesser ? first : next;
  if constexpr (std::is_floating_point_v<T>) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    const auto a = bits_as<Bits>(first), b = bits_as<Bits>(next);
    constexpr std::uint64_t quiet = sizeof(T) == 4 ? 0x7fc00000U : 0x7ff8000000000000U;
    const T nan = bits_as<T>(static_cast<Bits>(quiet));
    if (first == next) result = bits_as<T>(lesser ? a | b : a & b);  // zeros of either sign
    if (first != first) result = nan;
    if (next != next) result = nan;
  }
  return result;
}

template <class T>
PENSTOCK_HD T reduce_integers(Reduction reduction, T first, T next) noexcept {
  // Unsigned ones wrap around; shorter ones than int would become int.
  using Bits = std::conditional_t<sizeof(T) <= 4, std::uint32_t, std::uint64_t>;
  const Bits a = static_cast<Bits>(first), b = static_cast<Bits>(next);
  switch (reduction) {
    case Reduction::sum:
      return static_cast<T>(a + b);
    case Reduction::product:
      return static_cast<T>(a * b);
    case Reduction::min:
    case Reduction::max:
      return extreme(reduction == Reduction::min, first, next);
    case Reduction::bit_and:
      return static_cast<T>(a & b);
    case Reduction::bit_or:
      return static_cast<T>(a | b);
    case Reduction::bit_xor:
      return static_cast<T>(a ^ b);
    case Reduction::logical_and:
      return static_cast<T>(a != 0 && b != 0);
    case Reduction::logical_or:
      return static_cast<T>((a | b) != 0);
    case Reduction::logical_xor:
      return static_cast<T>((a != 0) != (b != 0));
    case Reduction::replace:
      break;
  }
  return next;
}

template <class T>
PENSTOCK_HD T reduce(Reduction reduction, T first, T next) noexcept {
  if constexpr (std::is_integral_v<T>) {
    return reduce_integers(reduction, first, next);
  } else {
    switch (reduction) {
      case Reduction::sum:
        return first + next;
      case Reduction::product:
        return first * next;
      case Reduction::min:
      case Reduction::max:
        return extreme(reduction == Reduction::min, first, next);
      default:
        return next;  // replace; no bits or truth values of these are combined
    }
  }
}

}  // namespace penstock::transport
