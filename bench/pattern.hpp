// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace penstock::bench {

// Fills a message with bytes that depend on its sender, its iteration and their place, so that a
// lost, repeated, stale or shifted message shows.
void fill_pattern(std::span<std::byte> message, std::uint64_t sender,
                  std::uint64_t iteration) noexcept;

// Number of bytes that differ from fill_pattern's.
std::size_t count_wrong(std::span<const std::byte> message, std::uint64_t sender,
                        std::uint64_t iteration) noexcept;

// What --check found; of host streams filled on the stream, read after it was synchronised.
struct CheckResult {
  std::uint64_t messages = 0;
  std::uint64_t wrong_bytes = 0;
  std::optional<std::uint64_t> first_wrong{};  // message, where that is known

  void add(std::span<const std::byte> message, std::uint64_t sender,
           std::uint64_t iteration) noexcept;
};

}  // namespace penstock::bench
