// SPDX-License-Identifier: Apache-2.0
// How kernels cut what they move: into words for threads, and these into blocks.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace penstock::gpu {

// The largest power of two that divides all that has been added, up to 16: what a thread moves at
// a time.
class Alignment {
 public:
  void add(std::uint64_t number) noexcept { all_ |= number; }
  void add(const void* address) noexcept { add(reinterpret_cast<std::uintptr_t>(address)); }
  std::uint64_t get() const noexcept { return std::uint64_t{1} << std::countr_zero(all_); }

 private:
  std::uint64_t all_ = 16;
};

// Of 256 threads, each for one word, up to the most blocks: then for more.
inline std::uint16_t blocks_for(std::uint64_t words) noexcept {
  constexpr std::uint64_t words_a_block = 256, most_blocks = 256;
  return static_cast<std::uint16_t>(
      std::clamp<std::uint64_t>((words + words_a_block - 1) / words_a_block, 1, most_blocks));
}

}  // namespace penstock::gpu
