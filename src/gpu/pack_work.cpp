// SPDX-License-Identifier: Apache-2.0
#include "gpu/pack_work.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace penstock::gpu {

namespace {

constexpr std::uint64_t widest = 16;
constexpr std::uint64_t words_a_block = 256;  // up to the most blocks
constexpr std::uint64_t most_blocks = 256;

// The largest power of two that divides all that has been added, up to the widest.
class Alignment {
 public:
  void add(std::uint64_t number) noexcept { all_ |= number; }
  std::uint64_t get() const noexcept { return std::uint64_t{1} << std::countr_zero(all_); }

 private:
  std::uint64_t all_ = widest;
};

std::uint64_t width_of(const datatype::Segments& segments, const PackWork& work) noexcept {
  Alignment alignment;
  alignment.add(reinterpret_cast<std::uintptr_t>(work.buffer));
  alignment.add(reinterpret_cast<std::uintptr_t>(work.room));
  alignment.add(work.bytes);
  if (segments.repetitions() > 1) alignment.add(static_cast<std::uint64_t>(work.segments.extent));
  for (const datatype::Segment& each : segments.list()) {
    alignment.add(static_cast<std::uint64_t>(each.offset));
    alignment.add(each.bytes);
    if (each.count > 1) alignment.add(static_cast<std::uint64_t>(each.stride));
  }
  return alignment.get();
}

}  // namespace

PackWork pack_work(const datatype::Segments& segments, const datatype::Segment* list,
                   std::byte* buffer, std::byte* room, std::uint64_t bytes) noexcept {
  PackWork work;
  work.segments = segments.view();
  work.segments.list = list;
  work.first = segments.list().front();
  work.buffer = buffer;
  work.room = room;
  work.bytes = bytes;
  work.width = static_cast<std::uint8_t>(width_of(segments, work));
  const std::uint64_t words = bytes / work.width;
  work.blocks = static_cast<std::uint16_t>(
      std::clamp<std::uint64_t>((words + words_a_block - 1) / words_a_block, 1, most_blocks));
  work.in_32_bits =
      std::max(bytes, work.segments.bytes) <= std::numeric_limits<std::uint32_t>::max();
  return work;
}

}  // namespace penstock::gpu
