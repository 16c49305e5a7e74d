// SPDX-License-Identifier: Apache-2.0
// MPI's own numbers and operations, which need no look at MPI, and what is combined by which.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>

#include "transport/combination.hpp"

namespace penstock::api {

// MPI's operations, by what types it lets them have.
enum class Family : std::uint8_t { none = 0, arithmetic = 1, logical = 2, bitwise = 4 };
constexpr Family operator|(Family one, Family other) noexcept {
  return static_cast<Family>(static_cast<std::uint8_t>(one) | static_cast<std::uint8_t>(other));
}
constexpr bool have(Family all, Family one) noexcept {
  return (static_cast<std::uint8_t>(all) & static_cast<std::uint8_t>(one)) != 0;
}

struct BasicType {
  MPI_Datatype type;
  std::size_t bytes;
  transport::Element element;
  Family families;  // none: it cannot be combined
};
const BasicType* basic_type(MPI_Datatype type) noexcept;  // null: it is none of these

enum class Taker { reduction, accumulate };

// Throws base::Error(unsupported), which names both.
transport::Combination combination_of(Taker taker, MPI_Datatype type, MPI_Op op);

}  // namespace penstock::api
