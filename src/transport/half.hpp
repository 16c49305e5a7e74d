// SPDX-License-Identifier: Apache-2.0
// Halves: floating-point numbers of 16 bits, which are combined as floats. By bits alone, so that
// the host and GPUs give the same ones, and no processor needs instructions of its own.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/host_device.hpp"

namespace penstock::transport {

struct Float16 {
  std::uint16_t bits;  // sign, 5 of the exponent, 10 of the fraction
};
struct BFloat16 {
  std::uint16_t bits;  // the upper half of a float's
};

template <class To, class From>
PENSTOCK_HD To bits_as(From from) noexcept {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

// ---- What values are combined as

template <class T>
struct WideOf {
  using type = T;
};
template <>
struct WideOf<Float16> {
  using type = float;
};
template <>
struct WideOf<BFloat16> {
  using type = float;
};
template <class T>
using Wide = typename WideOf<T>::type;

template <class T>
PENSTOCK_HD T widen(T value) noexcept {
  return value;
}

// A float's exponent counts from 127, a half's from 15. A subnormal half has those bits of the
// floats from 2^-14 on: 2^-14 is taken off again, and nothing of all others. So there is no branch,
// and no subnormal float, which some modes of processors take for zero.
PENSTOCK_HD inline float widen(Float16 half) noexcept {
  const std::uint32_t sign = (half.bits & 0x8000U) << 16, rest = (half.bits & 0x7fffU) << 13;
  const bool is_subnormal = rest < 1U << 23, is_finite = rest < 31U << 23;
  const std::uint32_t exponent = is_subnormal ? 113U : is_finite ? 112U : 224U;
  const std::uint32_t taken_off = is_subnormal ? 113U << 23 : 0;
  const float wide = bits_as<float>(rest + (exponent << 23)) - bits_as<float>(taken_off);
  return bits_as<float>(sign | bits_as<std::uint32_t>(wide));
}

PENSTOCK_HD inline float widen(BFloat16 half) noexcept {
  return bits_as<float>(std::uint32_t{half.bits} << 16);
}

// ---- Back, to the nearest, of two equally near ones to the even one; NaN stays NaN

// The units of a subnormal half are those of the floats from one half on: that sum is rounded. What
// is rounded up beyond the greatest number has the bits of infinity, as 2^16 has.
PENSTOCK_HD inline Float16 to_float16(float value) noexcept {
  constexpr std::uint32_t infinity = 255U << 23, beyond_all = 143U << 23, one_half = 126U << 23;
  const auto bits = bits_as<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000U, rest = bits & 0x7fffffffU;
  const std::uint32_t number = rest < beyond_all ? rest : beyond_all;
  const bool is_subnormal = rest < 113U << 23;
  const std::uint32_t added = is_subnormal ? one_half : 0;
  const auto sum = bits_as<std::uint32_t>(bits_as<float>(number) + bits_as<float>(added));
  const std::uint32_t normal = (sum - (112U << 23) + 0xfffU + (sum >> 13 & 1U)) >> 13;
  const std::uint32_t of_nan = rest > infinity ? 0x200U | (rest >> 13 & 0x1ffU) : 0;
  return {static_cast<std::uint16_t>(sign | (is_subnormal ? sum - one_half : normal) | of_nan)};
}

PENSTOCK_HD inline BFloat16 to_bfloat16(float value) noexcept {
  const auto bits = bits_as<std::uint32_t>(value);
  const bool is_nan = (bits & 0x7fffffffU) > 255U << 23;
  const std::uint32_t rounded = bits + 0x7fffU + (bits >> 16 & 1U);
  return {static_cast<std::uint16_t>(is_nan ? bits >> 16 | 0x40U : rounded >> 16)};
}

template <class T>
PENSTOCK_HD T narrow(Wide<T> value) noexcept {
  return value;
}
template <>
PENSTOCK_HD inline Float16 narrow<Float16>(float value) noexcept {
  return to_float16(value);
}
template <>
PENSTOCK_HD inline BFloat16 narrow<BFloat16>(float value) noexcept {
  return to_bfloat16(value);
}

}  // namespace penstock::transport
