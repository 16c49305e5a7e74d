// SPDX-License-Identifier: Apache-2.0
// How the elements of a channel are divided into units, and which units a call names.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "core/channel.hpp"

namespace penstock::channel {

// Units that follow each other.
struct UnitRange {
  std::uint32_t first = 0;
  std::uint32_t count = 0;

  std::uint32_t end() const noexcept { return first + count; }
  void pass_first() noexcept {
    ++first;
    --count;
  }
};

// How the elements are divided for calls that name them by numbers of partitions.
struct Partitions {
  std::uint64_t number = 0;
  std::uint64_t elements = 0;  // of each; a channel may end within its last one
};

class Grid {
 public:
  explicit Grid(const core::ChannelShape& shape) noexcept : shape_(shape) {}

  const core::ChannelShape& shape() const noexcept { return shape_; }
  std::uint64_t units() const noexcept {
    return shape_.count / shape_.unit + (shape_.count % shape_.unit != 0 ? 1 : 0);
  }
  std::uint64_t unit_bytes() const noexcept { return shape_.unit * shape_.element_bytes; }
  std::uint64_t first_byte(std::uint64_t unit) const noexcept {
    return unit * shape_.unit * shape_.element_bytes;
  }
  // The last unit may be short.
  std::uint64_t bytes(std::uint64_t unit) const noexcept {
    return elements(unit) * shape_.element_bytes;
  }
  // "unit 5 (elements 160 to 191)"
  std::string text(std::uint64_t unit) const {
    const std::uint64_t first = unit * shape_.unit;
    return "unit " + std::to_string(unit) + " (elements " + std::to_string(first) + " to " +
           std::to_string(first + elements(unit) - 1) + ")";
  }

  // The units of a range of elements. Throws Error(argument) where it is not one of whole units.
  UnitRange cut(std::int64_t offset, std::int64_t count) const {
    if (offset < 0 || count < 0) refuse(offset, count, "is negative");
    const auto first = static_cast<std::uint64_t>(offset);
    const auto length = static_cast<std::uint64_t>(count);
    if (first > shape_.count || length > shape_.count - first)
      refuse(offset, count, "is not within the channel");
    if (length == 0) return {};
    if (first % shape_.unit != 0 || (length % shape_.unit != 0 && first + length != shape_.count))
      refuse(offset, count, "does not begin and end where units do");
    return {static_cast<std::uint32_t>(first / shape_.unit),
            static_cast<std::uint32_t>((length - 1) / shape_.unit + 1)};
  }

 private:
  std::uint64_t elements(std::uint64_t unit) const noexcept {
    return std::min(shape_.unit, shape_.count - unit * shape_.unit);
  }
  [[noreturn, gnu::cold]] void refuse(std::int64_t offset, std::int64_t count,
                                      const char* why) const {
    throw base::Error(base::ErrorKind::argument,
                      "the range of " + std::to_string(count) + " elements from " +
                          std::to_string(offset) + " " + why + ", which has " +
                          std::to_string(shape_.count) + " elements in units of " +
                          std::to_string(shape_.unit));
  }

  core::ChannelShape shape_;
};

}  // namespace penstock::channel
