// SPDX-License-Identifier: Apache-2.0
// Host loops over segments. `position` counts the message's bytes, `buffer` is the address that the
// segments' offsets count from.
#pragma once

#include <cstddef>
#include <cstdint>

#include "datatype/segments.hpp"

namespace penstock::datatype {

// `bytes` bytes of the message from `position` on, to or from where they lie without gaps.
void pack(std::byte* to, const std::byte* buffer, const SegmentView& view, std::uint64_t position,
          std::uint64_t bytes) noexcept;
void unpack(std::byte* buffer, const SegmentView& view, const std::byte* from,
            std::uint64_t position, std::uint64_t bytes) noexcept;
// The same from one buffer into another. A view without a list is of bytes without gaps.
void copy(std::byte* to, const SegmentView& to_view, const std::byte* from,
          const SegmentView& from_view, std::uint64_t position, std::uint64_t bytes) noexcept;

}  // namespace penstock::datatype
