// SPDX-License-Identifier: Apache-2.0
// Contents of messages: every byte depends on the key of the message's sequence, on the epoch and
// on its offset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace penstock::test {

void fill_pattern(std::byte* data, std::size_t bytes, std::uint64_t key, std::uint64_t epoch);

// "" when all bytes are those of fill_pattern, else a line about the first one that is not, and
// about what it might be.
std::string check_pattern(const std::byte* data, std::size_t bytes, std::uint64_t key,
                          std::uint64_t epoch);

// "" when all bytes hold `value`.
std::string check_value(const std::byte* data, std::size_t bytes, std::byte value);

}  // namespace penstock::test
