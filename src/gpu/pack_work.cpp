// SPDX-License-Identifier: Apache-2.0
#include "gpu/pack_work.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace penstock::gpu {

namespace {

constexpr std::uint64_t widest = 16;
constexpr std::uint64_t moves_a_block = 256;  // up to the most blocks
constexpr std::uint64_t most_blocks = 256;

// The largest power of two that divides all that has been added, up to the widest.
class Alignment {
 public:
  void add(std::uint64_t number) noexcept { all_ |= number; }
  std::uint64_t get() const noexcept { return std::uint64_t{1} << std::countr_zero(all_); }

 private:
  std::uint64_t all_ = widest;
};

}  // namespace

void shape(PackWork& work, const datatype::Segments& segments) noexcept {
  Alignment alignment;
  alignment.add(reinterpret_cast<std::uintptr_t>(work.buffer));
  alignment.add(reinterpret_cast<std::uintptr_t>(work.packed));
  alignment.add(work.bytes);
  if (segments.repetitions() > 1) alignment.add(static_cast<std::uint64_t>(work.segments.extent));
  for (const datatype::Segment& each : segments.list()) {
    alignment.add(static_cast<std::uint64_t>(each.offset));
    alignment.add(each.bytes);
    if (each.count > 1) alignment.add(static_cast<std::uint64_t>(each.stride));
  }
  work.first = segments.list().front();
  work.width = static_cast<std::uint8_t>(alignment.get());
  const std::uint64_t moves = work.bytes / work.width;
  work.blocks = static_cast<std::uint16_t>(
      std::clamp<std::uint64_t>((moves + moves_a_block - 1) / moves_a_block, 1, most_blocks));
  work.in_32_bits =
      std::max(work.bytes, work.segments.bytes) <= std::numeric_limits<std::uint32_t>::max();
}

}  // namespace penstock::gpu
