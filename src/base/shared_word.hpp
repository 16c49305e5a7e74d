// SPDX-License-Identifier: Apache-2.0
// A word that several threads or processes tell each other something by: what was written before
// its store is there for who loads what it stored.
#pragma once

#include <atomic>
#include <cstdint>

namespace penstock::base {

inline std::uint64_t load(const std::uint64_t& word) noexcept {
  return std::atomic_ref(const_cast<std::uint64_t&>(word)).load(std::memory_order_acquire);
}
inline void store(std::uint64_t& word, std::uint64_t value) noexcept {
  std::atomic_ref(word).store(value, std::memory_order_release);
}

}  // namespace penstock::base
