// SPDX-License-Identifier: Apache-2.0
#include "support/pattern.hpp"

#include <algorithm>
#include <cstring>
#include <sstream>

namespace penstock::test {
namespace {

std::uint64_t base(std::uint64_t key, std::uint64_t epoch) {
  return (key * 0x9E3779B97F4A7C15u) ^ (epoch * 0xC2B2AE3D27D4EB4Fu);
}

std::uint64_t word(std::uint64_t base, std::uint64_t index) {
  const std::uint64_t mixed = (base + index * 0x9E3779B97F4A7C15u) * 0xD6E8FEB86659FD93u;
  return mixed ^ (mixed >> 32);
}

constexpr std::size_t block_words = 64;

// The same words again, block by block, so that checking is a memcmp.
template <typename Visit>
void each_block(std::size_t bytes, std::uint64_t key, std::uint64_t epoch, Visit visit) {
  const std::uint64_t first = base(key, epoch);
  std::uint64_t words[block_words];
  for (std::size_t offset = 0; offset < bytes; offset += sizeof words) {
    for (std::size_t i = 0; i < block_words; ++i) words[i] = word(first, offset / 8 + i);
    if (!visit(offset, reinterpret_cast<const std::byte*>(words),
               std::min(sizeof words, bytes - offset)))
      return;
  }
}

std::string guess(const std::byte* data, std::size_t bytes, std::uint64_t key,
                  std::uint64_t epoch) {
  const std::size_t some = std::min<std::size_t>(bytes, 8);
  for (std::uint64_t other = epoch > 4 ? epoch - 4 : 0; other <= epoch + 4; ++other) {
    const std::uint64_t expected = word(base(key, other), 0);
    if (std::memcmp(data, &expected, some) == 0)
      return "; begins like epoch " + std::to_string(other);
  }
  return "";
}

}  // namespace

void fill_pattern(std::byte* data, std::size_t bytes, std::uint64_t key, std::uint64_t epoch) {
  each_block(bytes, key, epoch,
             [&](std::size_t offset, const std::byte* words, std::size_t length) {
               std::memcpy(data + offset, words, length);
               return true;
             });
}

std::string check_pattern(const std::byte* data, std::size_t bytes, std::uint64_t key,
                          std::uint64_t epoch) {
  std::string complaint;
  each_block(bytes, key, epoch,
             [&](std::size_t offset, const std::byte* words, std::size_t length) {
               if (std::memcmp(data + offset, words, length) == 0) return true;
               std::size_t i = 0;
               while (data[offset + i] == words[i]) ++i;
               std::ostringstream text;
               text << "byte " << offset + i << " of " << bytes << " is "
                    << std::to_integer<int>(data[offset + i]) << ", expected "
                    << std::to_integer<int>(words[i]) << " (epoch " << epoch << ")"
                    << guess(data, bytes, key, epoch);
               complaint = text.str();
               return false;
             });
  return complaint;
}

std::string check_value(const std::byte* data, std::size_t bytes, std::byte value) {
  // Each byte is as the one before it.
  if (bytes == 0 || (data[0] == value && std::memcmp(data, data + 1, bytes - 1) == 0)) return "";
  const std::byte* end = data + bytes;
  const std::byte* wrong = std::find_if(data, end, [value](std::byte b) { return b != value; });
  if (wrong == end) return "";
  return "byte " + std::to_string(wrong - data) + " of " + std::to_string(bytes) + " is " +
         std::to_string(std::to_integer<int>(*wrong)) + ", expected it untouched at " +
         std::to_string(std::to_integer<int>(value));
}

}  // namespace penstock::test
