// SPDX-License-Identifier: Apache-2.0
// Host loops over segments. `position` counts the message's bytes, `buffer` is the address that the
// segments' offsets count from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "datatype/place.hpp"
#include "datatype/segments.hpp"

namespace penstock::datatype {

// Packs a message, or takes it apart, in pieces that usually follow each other: `bytes` bytes from
// `position` on, to or from where they lie without gaps.
class Walk {
 public:
  explicit Walk(const SegmentView& view) noexcept : view_(view) {}

  bool has_gaps() const noexcept { return view_.has_gaps(); }
  const SegmentView& view() const noexcept { return view_; }
  void pack(std::byte* to, const std::byte* buffer, std::uint64_t position,
            std::uint64_t bytes) noexcept;
  void unpack(std::byte* buffer, const std::byte* from, std::uint64_t position,
              std::uint64_t bytes) noexcept;

 private:
  Place& place_of(std::uint64_t position) noexcept;

  SegmentView view_;
  std::uint64_t next_ = 0;  // the position that place_ is of
  Place place_;
};

// From one buffer into another, of which one has gaps at least.
void copy_with_gaps(std::byte* to, const SegmentView& to_view, const std::byte* from,
                    const SegmentView& from_view, std::uint64_t position,
                    std::uint64_t bytes) noexcept;
// The same for any two.
inline void copy(std::byte* to, const SegmentView& to_view, const std::byte* from,
                 const SegmentView& from_view, std::uint64_t position,
                 std::uint64_t bytes) noexcept {
  if (!to_view.has_gaps() && !from_view.has_gaps()) [[likely]]
    std::memcpy(to + position, from + position, bytes);
  else
    copy_with_gaps(to, to_view, from, from_view, position, bytes);
}

}  // namespace penstock::datatype
