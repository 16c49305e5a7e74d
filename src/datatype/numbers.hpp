// SPDX-License-Identifier: Apache-2.0
// Sums and products of addresses, as programs may give any.
#pragma once

#include <cstdint>

#include "base/error.hpp"

namespace penstock::datatype {

[[noreturn]] inline void refuse_numbers() {
  throw base::Error(
      base::ErrorKind::argument,
      "its count and datatype reach over 2^63 bytes or more, which no message can: see its "
      "displacements and extent");
}

template <class A, class B>
std::int64_t sum(A a, B b) {
  std::int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) refuse_numbers();
  return result;
}

template <class A, class B>
std::int64_t product(A a, B b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) refuse_numbers();
  return result;
}

// Whether a * b is `value`; a product that does not fit is no other number.
template <class A, class B>
bool is_product(A a, B b, std::int64_t value) {
  std::int64_t result = 0;
  return !__builtin_mul_overflow(a, b, &result) && result == value;
}

}  // namespace penstock::datatype
