// SPDX-License-Identifier: Apache-2.0
// Host loops over segments. `position` counts the message's bytes, `buffer` is the address that the
// segments' offsets count from.
#pragma once

#include <cstddef>
#include <cstdint>

#include "datatype/segments.hpp"
#include "datatype/walk.hpp"

namespace penstock::datatype {

// A walk over a message in pieces, which usually follow each other.
class Walk {
 public:
  explicit Walk(const SegmentView& view) noexcept : view_(view) {}

  bool has_gaps() const noexcept { return view_.list != nullptr; }
  const SegmentView& view() const noexcept { return view_; }
  void pack(std::byte* to, const std::byte* buffer, std::uint64_t position,
            std::uint64_t bytes) noexcept;
  void unpack(std::byte* buffer, const std::byte* from, std::uint64_t position,
              std::uint64_t bytes) noexcept;

 private:
  Place& place_at(std::uint64_t position) noexcept;

  SegmentView view_;
  std::uint64_t next_ = 0;  // the position that place_ is of
  Place place_;
};

// `bytes` bytes of the message from `position` on, to or from where they lie without gaps.
void pack(std::byte* to, const std::byte* buffer, const SegmentView& view, std::uint64_t position,
          std::uint64_t bytes) noexcept;
void unpack(std::byte* buffer, const SegmentView& view, const std::byte* from,
            std::uint64_t position, std::uint64_t bytes) noexcept;
// The same from one buffer into another. A view without a list is of bytes without gaps.
void copy(std::byte* to, const SegmentView& to_view, const std::byte* from,
          const SegmentView& from_view, std::uint64_t position, std::uint64_t bytes) noexcept;

}  // namespace penstock::datatype
