// SPDX-License-Identifier: Apache-2.0
// Runs of one length, one stride apart, as vectors and the planes of arrays have them. It is the
// one shape with gaps that is as small as a pointer, so every launch of a kernel can carry it.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include "base/host_device.hpp"
#include "datatype/segments.hpp"

namespace penstock::datatype {

// In all. Loops that count in 32 bits then cannot wrap around.
inline constexpr std::uint64_t most_row_bytes = std::uint64_t{1} << 31;

struct Rows {
  std::uint32_t bytes = 0;    // of a row; 0: the message has no gaps
  std::uint32_t stride = 0;   // from the begin of a row to that of the next
  std::uint32_t inverse = 0;  // 2^row_shift(bytes) / bytes, rounded up

  PENSTOCK_HD bool has_gaps() const noexcept { return bytes != 0; }
};

// 31 and the bits of what is below `bytes`.
PENSTOCK_HD inline unsigned row_shift(std::uint32_t bytes) noexcept {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  return 63 - static_cast<unsigned>(__clz(static_cast<int>(bytes - 1)));
#else
  return 31 + static_cast<unsigned>(std::bit_width(bytes - 1));
#endif
}

// Where a byte of the message lies.
struct RowPlace {
  std::uint64_t offset = 0;  // from the first row on
  std::uint32_t left = 0;    // how many bytes lie together from there on
};

// Of rows with gaps. By a product, as a division takes a GPU ten times as long. It is exact below
// 2^31: what the inverse is too large by is less than bytes / 2^row_shift, so that it makes up for
// less than 1 / bytes there.
PENSTOCK_HD inline RowPlace place_in(const Rows& rows, std::uint32_t position) noexcept {
  const auto row =
      static_cast<std::uint32_t>((std::uint64_t{position} * rows.inverse) >> row_shift(rows.bytes));
  const std::uint32_t into = position - row * rows.bytes;
  return {std::uint64_t{row} * rows.stride + into, rows.bytes - into};
}

// Nothing where the segments are no rows that go up from the buffer's address on, or are too large.
std::optional<Rows> rows_of(const Segments& segments);

}  // namespace penstock::datatype
