// SPDX-License-Identifier: Apache-2.0
//
// The numbers by which penstock::halo tells scalars and reductions apart, for kernels too. Include
// <penstock/halo.hpp>.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::halo {

// What a scatter does with what arrives.
enum class Reduction : std::uint8_t { replace, sum, min, max };

namespace detail {

inline constexpr std::size_t max_dimensions = 3;
inline constexpr std::size_t max_arrays = 16;  // in one halo

// Scalars that reductions know; others are bytes, which can only replace.
enum class Scalar : std::uint8_t { bytes, i8, i16, i32, i64, u8, u16, u32, u64, f32, f64 };

}  // namespace detail
}  // namespace penstock::halo
