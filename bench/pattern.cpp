// SPDX-License-Identifier: Apache-2.0
#include "pattern.hpp"

#include <algorithm>
#include <cstring>

namespace penstock::bench {
namespace {

// A 64-bit finalizer: neighbouring inputs give unrelated words.
std::uint64_t mix(std::uint64_t value) noexcept {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

// The words of one message.
class Words {
 public:
  Words(std::uint64_t sender, std::uint64_t iteration) noexcept
      : seed_(mix(sender + 1) ^ mix(iteration * 2 + 1)) {}
  std::uint64_t operator[](std::size_t index) const noexcept { return mix(seed_ + index); }

 private:
  std::uint64_t seed_;
};

std::size_t differing_bytes(const std::byte* bytes, std::uint64_t word,
                            std::size_t count) noexcept {
  std::byte expected[sizeof word];
  std::memcpy(expected, &word, sizeof word);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i) wrong += bytes[i] != expected[i] ? 1 : 0;
  return wrong;
}

}  // namespace

void fill_pattern(std::span<std::byte> message, std::uint64_t sender,
                  std::uint64_t iteration) noexcept {
  const Words words(sender, iteration);
  for (std::size_t begin = 0; begin < message.size(); begin += sizeof(std::uint64_t)) {
    const std::uint64_t word = words[begin];
    std::memcpy(message.data() + begin, &word, std::min(sizeof word, message.size() - begin));
  }
}

std::size_t count_wrong(std::span<const std::byte> message, std::uint64_t sender,
                        std::uint64_t iteration) noexcept {
  const Words words(sender, iteration);
  std::size_t wrong = 0;
  for (std::size_t begin = 0; begin < message.size(); begin += sizeof(std::uint64_t)) {
    const std::size_t count = std::min(sizeof(std::uint64_t), message.size() - begin);
    const std::uint64_t word = words[begin];
    if (std::memcmp(message.data() + begin, &word, count) != 0)
      wrong += differing_bytes(message.data() + begin, word, count);
  }
  return wrong;
}

void CheckResult::add(std::span<const std::byte> message, std::uint64_t sender,
                      std::uint64_t iteration) noexcept {
  const std::size_t wrong = count_wrong(message, sender, iteration);
  if (wrong != 0 && wrong_bytes == 0) first_wrong = iteration;
  wrong_bytes += wrong;
  ++messages;
}

}  // namespace penstock::bench
