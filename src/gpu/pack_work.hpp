// SPDX-License-Identifier: Apache-2.0
// One message with gaps, as the kernels that pack and unpack it are given it: fixed at match,
// carried by value in every launch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "datatype/segments.hpp"

namespace penstock::gpu {

struct PackWork {
  datatype::SegmentView segments;  // the list, on the device, if there is more than one segment
  datatype::Segment first;         // of the list, which seldom has another
  std::byte* buffer = nullptr;
  std::byte* room = nullptr;
  std::uint64_t bytes = 0;
  std::uint32_t id = 0;  // of the plan, which is poisoned where a launch fails
  std::uint16_t blocks = 1;
  std::uint8_t width = 1;   // a thread moves so many bytes at a time, which never cross a gap
  bool in_32_bits = false;  // every position is less than 2^32
};

// All but the id. `list`: the segments', on the device, null if it is a single one; its offsets
// count from `buffer`. `room`: for `bytes` bytes.
PackWork pack_work(const datatype::Segments& segments, const datatype::Segment* list,
                   std::byte* buffer, std::byte* room, std::uint64_t bytes) noexcept;

}  // namespace penstock::gpu
