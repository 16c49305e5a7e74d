// SPDX-License-Identifier: Apache-2.0
// The operations of an epoch as a stream of 8-byte words, for those that bring them to the target
// in pieces, such as lines of a slot or messages:
//   displacement | bytes | verb, reduction, element, apart | its bytes, padded
// No word and no element lies in two pieces where those are multiples of 8.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "transport/operations.hpp"

namespace penstock::plan {

using StreamWord = std::uint64_t;
inline constexpr std::size_t operation_header_words = 3;

// What a page of the stream holds, where epochs travel in pages (`eager_max`: PENSTOCK_RMA_EAGER).
// Those of a small window are smaller.
constexpr std::size_t page_room(std::size_t window_bytes, std::size_t eager_max) noexcept {
  constexpr std::size_t least = 4096;
  const std::size_t room = std::min(std::max(least, eager_max), std::max(least, 2 * window_bytes));
  return (room + sizeof(StreamWord) - 1) / sizeof(StreamWord) * sizeof(StreamWord);
}

// In the stream, with its header. `apart`: its bytes go another way.
std::size_t words_of(const transport::Operation& operation, bool apart = false) noexcept;

// Of one operation after the other.
class OperationWriter {
 public:
  void begin(const transport::Operation& operation, bool apart = false) noexcept;
  bool done() const noexcept { return header_at_ == header_.size() && through_ == bytes_; }
  // As much as there is room for, in bytes, which is returned.
  std::size_t write(std::byte* to, std::size_t room) noexcept;

 private:
  std::array<StreamWord, operation_header_words> header_{};
  std::size_t header_at_ = operation_header_words;
  const std::byte* from_ = nullptr;
  std::size_t bytes_ = 0;    // that stand in the stream
  std::size_t through_ = 0;  // of these
};

// Carries out what it reads.
class OperationReader {
 public:
  void begin() noexcept { header_at_ = 0; }
  bool done() const noexcept { return header_at_ == header_.size() && through_ == bytes_; }
  // As much of the piece as belongs to this operation, which is returned. `window`: the first byte
  // of the target's memory.
  std::size_t read(const std::byte* from, std::size_t bytes, std::byte* window) noexcept;
  // When it is done, and its bytes go another way. It has no origin.
  bool apart() const noexcept { return apart_; }
  const transport::Operation& operation() const noexcept { return operation_; }

 private:
  void take_header() noexcept;
  void apply(const std::byte* from, std::size_t bytes, std::byte* window) const noexcept;

  std::array<StreamWord, operation_header_words> header_{};
  std::size_t header_at_ = operation_header_words;
  transport::Operation operation_;
  bool apart_ = false;
  std::size_t bytes_ = 0;
  std::size_t through_ = 0;
};

}  // namespace penstock::plan
