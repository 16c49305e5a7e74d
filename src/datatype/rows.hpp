// SPDX-License-Identifier: Apache-2.0
// The one shape with gaps that is small enough, with 12 bytes, for every launch of a kernel to
// carry it: a message of a single segment that goes up from its buffer, as vectors and those planes
// of arrays have it that one loop walks.
#pragma once

#include <bit>
#include <cstdint>

#include "base/host_device.hpp"

namespace penstock::datatype {

struct Rows {
  std::uint32_t bytes = 0;    // of a row; 0: the message has no gaps
  std::uint32_t stride = 0;   // from the begin of a row to that of the next
  std::uint32_t inverse = 0;  // 2^row_shift(bytes) / bytes, rounded up

  // The longest message. Loops that count its bytes in 32 bits cannot wrap around.
  static constexpr std::uint64_t most_bytes = std::uint64_t{1} << 31;

  PENSTOCK_HD bool has_gaps() const noexcept { return bytes != 0; }
};

// 31 more than the bits of `bytes` - 1: the least with which offset_in() is exact.
PENSTOCK_HD inline unsigned row_shift(std::uint32_t bytes) noexcept {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  return 63 - static_cast<unsigned>(__clz(static_cast<int>(bytes - 1)));
#else
  return 31 + static_cast<unsigned>(std::bit_width(bytes - 1));
#endif
}

// Where a byte of the message lies, from the first row on; there are gaps. By a product, as a
// division takes a GPU ten times as long. The inverse exceeds 2^row_shift / bytes by less than 1,
// so the product, shifted, exceeds position / bytes by less than 2^31 / 2^row_shift, which is at
// most 1 / bytes: too little to reach the next row.
PENSTOCK_HD inline std::uint64_t offset_in(const Rows& rows, std::uint32_t position) noexcept {
  const auto row =
      static_cast<std::uint32_t>((std::uint64_t{position} * rows.inverse) >> row_shift(rows.bytes));
  return std::uint64_t{row} * rows.stride + (position - row * rows.bytes);
}

// Steps through a message of so many bytes whose width, a power of two, divides this cross no gap
// and are aligned.
PENSTOCK_HD inline std::uint64_t alignment_of(const void* buffer, std::uint64_t bytes,
                                              const Rows& rows) noexcept {
  return reinterpret_cast<std::uintptr_t>(buffer) | bytes | rows.bytes | rows.stride;
}

}  // namespace penstock::datatype
