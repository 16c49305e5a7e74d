// SPDX-License-Identifier: Apache-2.0
// Local steps of a schedule, carried out in a member's own memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "coll/schedule.hpp"
#include "transport/operations.hpp"

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

// How a collective combines values.
struct Combination {
  transport::Reduction reduction = transport::Reduction::replace;
  transport::Element element = transport::Element::int32;
};

void carry_out(const LocalStep& step, const Memory& memory,
               const Combination& combination) noexcept;

}  // namespace penstock::coll
