// SPDX-License-Identifier: Apache-2.0
// Local steps of a schedule, carried out in a member's own memory.
#pragma once

#include <cstddef>

#include "coll/schedule.hpp"
#include "transport/combination.hpp"

namespace penstock::coll {

// Where a member's buffers lie. The input is only read.
struct Memory {
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  std::byte* temporary = nullptr;

  std::byte* at(const Region& region) const noexcept {
    std::byte* const buffers[] = {const_cast<std::byte*>(input), output, temporary};
    return buffers[static_cast<std::size_t>(region.buffer)] + region.offset;
  }
};

using transport::Combination;

void carry_out(const LocalStep& step, const Memory& memory,
               const Combination& combination) noexcept;

}  // namespace penstock::coll
