// SPDX-License-Identifier: Apache-2.0
// One local step of a collective in memory of a GPU, as kernels are given it: fixed at match,
// carried by value in every launch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/combination.hpp"

namespace penstock::gpu {

struct StepWork {
  static constexpr std::size_t most_inside = 4;

  // The values that are combined, in this order; of a move the only one.
  const std::byte* from[most_inside]{};
  const std::byte* const* list = nullptr;  // all of them, on the device; null: they are inside
  std::byte* to = nullptr;                 // may be one of them
  std::uint64_t bytes = 0;                 // of each
  // A move takes [row][column][run] to [column][row][run].
  std::uint64_t run = 0;
  std::uint32_t rows = 1;
  std::uint32_t columns = 1;
  std::uint32_t values = 1;
  std::uint16_t blocks = 1;
  std::uint8_t width = 1;  // every address and length that counts is a multiple of it
  transport::Combination combination;
};

StepWork move_work(const std::byte* from, std::byte* to, std::uint64_t bytes,
                   std::uint32_t rows = 1, std::uint32_t columns = 1) noexcept;
// `list`: the values, on the device; may be null where they are most_inside or fewer.
StepWork combine_work(std::span<const std::byte* const> values, const std::byte* const* list,
                      std::byte* to, std::uint64_t bytes,
                      const transport::Combination& combination) noexcept;

}  // namespace penstock::gpu
