// SPDX-License-Identifier: Apache-2.0
// Where a byte of a message lies, by how many are sent before it. Host loops and kernels look here.
#pragma once

#include <cstdint>

#include "base/host_device.hpp"
#include "datatype/segments.hpp"

namespace penstock::datatype {

// Where a byte lies: of which run.
struct Place {
  std::int64_t base = 0;  // of the repetition
  std::uint64_t segment = 0;
  std::uint64_t run = 0;
  std::uint64_t byte = 0;  // of the run
};

PENSTOCK_HD inline std::uint64_t segment_at(const SegmentView& view, std::uint64_t position) {
  std::uint64_t first = 0, last = view.segments - 1;
  while (first < last) {
    const std::uint64_t middle = first + (last - first + 1) / 2;
    if (view.list[middle].position <= position)
      first = middle;
    else
      last = middle - 1;
  }
  return first;
}

// `position` is less than the message's bytes.
PENSTOCK_HD inline Place place_at(const SegmentView& view, std::uint64_t position) {
  const std::uint64_t repetition = position / view.bytes;
  const std::uint64_t rest = position - repetition * view.bytes;
  Place place;
  place.base = static_cast<std::int64_t>(repetition) * view.extent;
  place.segment = segment_at(view, rest);
  const Segment& segment = view.list[place.segment];
  const std::uint64_t into = rest - segment.position;
  place.run = into / segment.bytes;
  place.byte = into - place.run * segment.bytes;
  return place;
}

PENSTOCK_HD inline std::int64_t offset_of(const SegmentView& view, const Place& place) {
  const Segment& segment = view.list[place.segment];
  return place.base + segment.offset + static_cast<std::int64_t>(place.run) * segment.stride +
         static_cast<std::int64_t>(place.byte);
}

// How many bytes of the run are left.
PENSTOCK_HD inline std::uint64_t left_in_run(const SegmentView& view, const Place& place) {
  return view.list[place.segment].bytes - place.byte;
}

// To the first byte of the run that is sent next, if there is one.
PENSTOCK_HD inline void to_next_run(const SegmentView& view, Place& place) {
  place.byte = 0;
  if (++place.run < view.list[place.segment].count) return;
  place.run = 0;
  if (++place.segment < view.segments) return;
  place.segment = 0;
  place.base += view.extent;
}

}  // namespace penstock::datatype
