// SPDX-License-Identifier: Apache-2.0
// A message that two processors copy together is cut into parts. One word says which are left: those from `first` on,
// up to but without `end`, of one epoch. Both sides change it by compare-and-swap only, so each part is taken once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "protocol/epoch.hpp"

namespace penstock::transport::peer {

struct Parts {
  // Measured: a smaller message is moved before the other side has noticed, and smaller parts are not worth taking.
  static constexpr std::size_t worth_sharing = 128 * 1024;
  static constexpr std::size_t smallest = 64 * 1024;
  static constexpr std::size_t most = 8;
  static constexpr unsigned field = 4;  // bits of `first` and of `end`; the epoch has the others
  static constexpr std::uint64_t mask = (std::uint64_t{1} << field) - 1;
  static_assert(most <= mask);

  std::size_t bytes;  // of each part but the last, a multiple of a page
  std::uint32_t count;

  explicit Parts(std::size_t message) noexcept {
    constexpr std::size_t page = 4096;
    bytes = message / most < smallest ? smallest : (message / most / page + 1) * page;
    count = message < worth_sharing ? 1 : static_cast<std::uint32_t>((message + bytes - 1) / bytes);
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
