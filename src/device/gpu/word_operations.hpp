// SPDX-License-Identifier: Apache-2.0
// Stores to words, and waits for words, that a stream makes by itself: no kernel runs meanwhile.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <gpu_runtime.hpp>

namespace penstock::device::gpu {

// Whether the driver offers them at all; what a device does with them only a trial shows.
bool has_word_operations() noexcept;

// A row of them, in their order. In a capture they are one node of the graph.
class WordOperations {
 public:
  static constexpr std::size_t most = 255;  // of the driver

  // The words lie in memory that kernels address too, but not in managed memory.
  void store(std::uint32_t& word, std::uint32_t value) noexcept { add({&word, value, false}); }
  void await(std::uint32_t& word, std::uint32_t least) noexcept { add({&word, least, true}); }
  // On the current device.
  cudaError_t enqueue(cudaStream_t stream) const noexcept;

 private:
  struct WordOperation {
    std::uint32_t* word;
    std::uint32_t value;
    bool waits;
  };
  void add(const WordOperation& operation) noexcept { operations_[count_++] = operation; }

  std::size_t count_ = 0;
  std::array<WordOperation, most> operations_;
};

}  // namespace penstock::device::gpu
