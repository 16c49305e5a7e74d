// SPDX-License-Identifier: Apache-2.0
// One message with gaps, as the kernels that pack and unpack it are given it: fixed at match,
// carried by value in every launch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "datatype/segments.hpp"

namespace penstock::gpu {

struct PackWork {
  datatype::SegmentView segments;  // the list lies on the device; offsets count from `buffer`
  datatype::Segment first;         // of the list, which seldom has another
  std::byte* buffer = nullptr;
  std::byte* packed = nullptr;
  std::uint64_t bytes = 0;
  std::uint32_t id = 0;  // the plan's, in reports
  std::uint16_t blocks = 1;
  std::uint8_t width = 1;   // a thread moves so many bytes at a time, which never cross a gap
  bool in_32_bits = false;  // every position is less than 2^32
};

// What `work` says last: its width and its blocks, by a list of the host's and how often it is
// repeated.
void shape(PackWork& work, const datatype::Segments& segments) noexcept;

}  // namespace penstock::gpu
