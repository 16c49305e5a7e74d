// SPDX-License-Identifier: Apache-2.0
#include "datatype/copy.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace penstock::datatype {

namespace {

// Whole runs of one segment, a stride apart.
struct Strip {
  std::int64_t offset = 0;
  std::uint64_t bytes = 0;  // of each run
  std::uint64_t count = 1;
  std::int64_t stride = 0;
};

// The rest of the run that the place is in, or as many whole runs as `bytes` have room for.
Strip strip_at(const SegmentView& view, const Place& place, std::uint64_t bytes) noexcept {
  const Segment& segment = view.list[place.segment];
  const std::int64_t offset = offset_of(view, place);
  const std::uint64_t left = std::min(left_in_run(view, place), bytes);
  if (place.byte != 0 || left < segment.bytes) return {offset, left, 1, 0};
  return {offset, segment.bytes, std::min(segment.count - place.run, bytes / segment.bytes),
          segment.stride};
}

void advance(const SegmentView& view, Place& place, const Strip& strip) noexcept {
  const Segment& segment = view.list[place.segment];
  if (place.byte + strip.bytes < segment.bytes) {
    place.byte += strip.bytes;
    return;
  }
  place.run += strip.count - 1;
  to_next_run(view, place);
}

// Leaves the place behind the last byte.
template <class Each>
void for_each_strip(const SegmentView& view, Place& place, std::uint64_t bytes,
                    Each each) noexcept {
  while (bytes > 0) {
    const Strip strip = strip_at(view, place, bytes);
    each(strip);
    bytes -= strip.bytes * strip.count;
    advance(view, place, strip);
  }
}

// A run of up to some KiB. For these memcpy takes string instructions, which cost more to start
// than the run to move.
void move_run(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  constexpr std::size_t step = 64, largest = 8192;
  if (bytes > largest) {
    std::memcpy(to, from, bytes);
    return;
  }
  for (; bytes >= step; bytes -= step, to += step, from += step) std::memcpy(to, from, step);
  const auto move_rest = [&](auto size) {
    if ((bytes & size) == 0) return;
    std::memcpy(to, from, size);
    to += size;
    from += size;
  };
  move_rest(std::integral_constant<std::size_t, 32>());
  move_rest(std::integral_constant<std::size_t, 16>());
  move_rest(std::integral_constant<std::size_t, 8>());
  move_rest(std::integral_constant<std::size_t, 4>());
  move_rest(std::integral_constant<std::size_t, 2>());
  move_rest(std::integral_constant<std::size_t, 1>());
}

// Runs of a constant length become plain moves; a call of memcpy costs more than the run then.
template <std::size_t bytes>
void move_runs(std::byte* to, std::int64_t to_stride, const std::byte* from,
               std::int64_t from_stride, std::uint64_t count) noexcept {
  for (std::uint64_t run = 0; run < count; ++run, to += to_stride, from += from_stride)
    std::memcpy(to, from, bytes);
}

void move_runs(std::byte* to, std::int64_t to_stride, const std::byte* from,
               std::int64_t from_stride, const Strip& strip) noexcept {
  const auto move = [&](auto bytes) {
    move_runs<bytes>(to, to_stride, from, from_stride, strip.count);
  };
  switch (strip.bytes) {
    case 1:
      return move(std::integral_constant<std::size_t, 1>());
    case 2:
      return move(std::integral_constant<std::size_t, 2>());
    case 4:
      return move(std::integral_constant<std::size_t, 4>());
    case 8:
      return move(std::integral_constant<std::size_t, 8>());
    case 16:
      return move(std::integral_constant<std::size_t, 16>());
    case 24:
      return move(std::integral_constant<std::size_t, 24>());
    default:
      for (std::uint64_t run = 0; run < strip.count; ++run, to += to_stride, from += from_stride)
        move_run(to, from, strip.bytes);
  }
}

void copy_runs(std::byte* to, const SegmentView& to_view, const std::byte* from,
               const SegmentView& from_view, std::uint64_t position, std::uint64_t bytes) noexcept {
  Place to_place = place_at(to_view, position), from_place = place_at(from_view, position);
  while (bytes > 0) {
    const Strip writes = strip_at(to_view, to_place, bytes);
    const Strip reads = strip_at(from_view, from_place, bytes);
    Strip both{0, std::min(writes.bytes, reads.bytes), 1, 0};
    if (writes.bytes == reads.bytes) both.count = std::min(writes.count, reads.count);
    move_runs(to + writes.offset, writes.stride, from + reads.offset, reads.stride, both);
    bytes -= both.bytes * both.count;
    advance(to_view, to_place, both);
    advance(from_view, from_place, both);
  }
}

}  // namespace

Place& Walk::place_of(std::uint64_t position) noexcept {
  if (position == 0)
    place_ = Place();
  else if (position != next_)
    place_ = place_at(view_, position);
  return place_;
}

void Walk::pack(std::byte* to, const std::byte* buffer, std::uint64_t position,
                std::uint64_t bytes) noexcept {
  for_each_strip(view_, place_of(position), bytes, [&](const Strip& strip) {
    const auto length = static_cast<std::int64_t>(strip.bytes);
    move_runs(to, length, buffer + strip.offset, strip.stride, strip);
    to += strip.bytes * strip.count;
  });
  next_ = position + bytes;
}

void Walk::unpack(std::byte* buffer, const std::byte* from, std::uint64_t position,
                  std::uint64_t bytes) noexcept {
  for_each_strip(view_, place_of(position), bytes, [&](const Strip& strip) {
    const auto length = static_cast<std::int64_t>(strip.bytes);
    move_runs(buffer + strip.offset, strip.stride, from, length, strip);
    from += strip.bytes * strip.count;
  });
  next_ = position + bytes;
}

void copy_with_gaps(std::byte* to, const SegmentView& to_view, const std::byte* from,
                    const SegmentView& from_view, std::uint64_t position,
                    std::uint64_t bytes) noexcept {
  if (bytes == 0) return;
  if (to_view.list == nullptr)
    Walk(from_view).pack(to + position, from, position, bytes);
  else if (from_view.list == nullptr)
    Walk(to_view).unpack(to, from + position, position, bytes);
  else
    copy_runs(to, to_view, from, from_view, position, bytes);
}

}  // namespace penstock::datatype
