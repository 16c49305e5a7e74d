// SPDX-License-Identifier: Apache-2.0
// A message that two processors copy together is cut into parts. One word says which are left: those from `first` on,
// up to but without `end`, of one epoch. Both sides change it by compare-and-swap only, so each part is taken once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "protocol/epoch.hpp"

namespace penstock::transport::peer {

struct Parts {
  static constexpr std::size_t most = 8;
  static constexpr unsigned field = 4;  // bits of `first` and of `end`; the epoch has the others
  static constexpr std::uint64_t mask = (std::uint64_t{1} << field) - 1;
  static_assert(most <= mask);

  std::size_t bytes;  // of each part but the last, a multiple of a page
  std::uint32_t count;

  Parts(std::size_t message, std::uint32_t parts) noexcept : bytes(message), count(parts) {
    constexpr std::size_t page = 4096;
    if (parts > 1) bytes = (message / parts / page + 1) * page;
  }

  // Into how many parts a message is best cut (docs/performance.md): in two from the size on at which the other side
  // notices before the copy is over, which is earlier where the kernel copies; in more only while each is still large.
  static std::uint32_t best_count(std::size_t message, bool kernel_copies) noexcept {
    constexpr std::size_t kib = 1024, large = 64 * kib;
    if (message < (kernel_copies ? 16 * kib : 64 * kib)) return 1;
    return static_cast<std::uint32_t>(std::clamp<std::size_t>(message / large, 2, most));
  }

  std::uint64_t all(protocol::Epoch epoch) const noexcept { return (epoch << (2 * field)) | count; }
  static bool of(std::uint64_t left, protocol::Epoch epoch) noexcept {
    return left >> (2 * field) == (epoch << (2 * field)) >> (2 * field);
  }
  static std::uint64_t first(std::uint64_t left) noexcept { return (left >> field) & mask; }
  static std::uint64_t end(std::uint64_t left) noexcept { return left & mask; }
  static std::uint64_t last(std::uint64_t left) noexcept { return end(left) - 1; }
  static bool none(std::uint64_t left) noexcept { return first(left) >= end(left); }
  static std::uint64_t without_first(std::uint64_t left) noexcept { return left + (std::uint64_t{1} << field); }
  static std::uint64_t without_last(std::uint64_t left) noexcept { return left - 1; }
};

}  // namespace penstock::transport::peer
