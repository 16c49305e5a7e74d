// SPDX-License-Identifier: Apache-2.0
#include "gpu/pack_work.hpp"

#include <algorithm>
#include <limits>

#include "gpu/work_shape.hpp"

namespace penstock::gpu {

namespace {

std::uint64_t width_of(const datatype::Segments& segments, const PackWork& work) noexcept {
  Alignment alignment;
  alignment.add(work.buffer);
  alignment.add(work.room);
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
  work.blocks = blocks_for(bytes / work.width);
  work.in_32_bits =
      std::max(bytes, work.segments.bytes) <= std::numeric_limits<std::uint32_t>::max();
  return work;
}

}  // namespace penstock::gpu
