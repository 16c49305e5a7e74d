// SPDX-License-Identifier: Apache-2.0
// Steering tables: which cells lie where in the messages. The same for the host's loops and for
// kernels.
#pragma once

#include <cstdint>
#include <penstock/halo_kinds.hpp>

namespace penstock::halo {

inline constexpr int axes = 4;

// Where a box of cells lies in the memory of the messages, in bytes.
struct Part {
  std::uint64_t offset;
  std::int64_t strides[axes];
};

// A box of an array's elements. Packing copies it to its one part; unpacking brings its parts
// together, in their order. Boxes of one table that is unpacked have no element in common.
struct Box {
  std::int64_t offset;  // bytes from the array's first element
  std::int64_t strides[axes];
  std::uint64_t extents[axes];  // the last axis is the fastest in the array's memory
  std::uint64_t elements;
  std::uint32_t array;
  std::uint32_t element_bytes;
  std::uint32_t alignment;
  std::uint32_t first_part;
  std::uint32_t parts;
  detail::Scalar scalar;
};

}  // namespace penstock::halo
