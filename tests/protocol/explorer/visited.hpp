// SPDX-License-Identifier: Apache-2.0
// The set of visited states, by a 128-bit hash of their bytes: with 10^8 states the chance that two
// share one is below 10^-22.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace penstock::explorer {

struct Fingerprint {
  std::uint64_t low, high;
  bool operator==(const Fingerprint&) const = default;
};

inline Fingerprint fingerprint(const std::string& bytes) {
  auto mix = [](std::uint64_t a, std::uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  };
  std::uint64_t low = 0x9e3779b97f4a7c15, high = 0xc2b2ae3d27d4eb4f ^ bytes.size();
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min<std::size_t>(8, bytes.size() - at));
    low = mix(low ^ word, 0xff51afd7ed558ccd) + (low >> 7);
    high = mix(high + word, 0xc4ceb9fe1a85ec53) ^ (high << 9);
  }
  return {mix(low, 0xd6e8feb86659fd93 ^ high), mix(high, 0xa0761d6478bd642f ^ low)};
}

class Visited {
 public:
  Visited() : slots_(1 << 12) {}

  // The state's number, and whether it is new.
  std::pair<std::uint32_t, bool> insert(const Fingerprint& print) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    Slot& slot = find(print);
    if (slot.number != empty) return {slot.number, false};
    slot = {print, count_};
    return {count_++, true};
  }

  std::size_t size() const { return count_; }

 private:
  static constexpr std::uint32_t empty = 0xffffffff;
  struct Slot {
    Fingerprint print{};
    std::uint32_t number = empty;
  };

  Slot& find(const Fingerprint& print) {
    std::size_t at = print.low & (slots_.size() - 1);
    while (slots_[at].number != empty && !(slots_[at].print == print))
      at = (at + 1) & (slots_.size() - 1);
    return slots_[at];
  }

  void grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.number != empty) find(slot.print) = slot;
  }

  std::vector<Slot> slots_;
  std::uint32_t count_ = 0;
};

}  // namespace penstock::explorer
