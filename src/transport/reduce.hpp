// SPDX-License-Identifier: Apache-2.0
// What an accumulate makes of an element of the target's and one of the origin's, on the host and
// on GPUs.
#pragma once

#include <type_traits>

#include "base/host_device.hpp"
#include "transport/operations.hpp"

namespace penstock::transport {

template <class T>
PENSTOCK_HD T reduce(Reduction reduction, T target, T origin) noexcept {
  using enum Reduction;
  if constexpr (std::is_integral_v<T>) {
    using Bits = std::make_unsigned_t<T>;  // which wrap around
    const Bits a = static_cast<Bits>(target), b = static_cast<Bits>(origin);
    switch (reduction) {
      case sum:
        return static_cast<T>(a + b);
      case product:
        return static_cast<T>(a * b);
      case bit_and:
        return static_cast<T>(a & b);
      case bit_or:
        return static_cast<T>(a | b);
      case bit_xor:
        return static_cast<T>(a ^ b);
      default:
        break;
    }
  }
  switch (reduction) {
    case sum:
      return target + origin;
    case product:
      return target * origin;
    case min:
      return origin < target ? origin : target;
    case max:
      return target < origin ? origin : target;
    default:
      return origin;  // replace
  }
}

}  // namespace penstock::transport
