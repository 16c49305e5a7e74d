// SPDX-License-Identifier: Apache-2.0
// Pieces of one block of memory, given out and given back in one order: that of a stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace penstock::enqueued {

class StagingRing {
 public:
  // Positions only grow; a piece lies at its position modulo the size.
  using Position = std::uint64_t;
  static constexpr std::size_t alignment = 64;

  explicit StagingRing(std::size_t size) noexcept : size_(size / alignment * alignment) {}

  // Where a piece of so many bytes begins in the block; nothing: there is no room. A piece of no
  // bytes takes some, so that no two are at one place.
  std::optional<std::size_t> take(std::size_t bytes) noexcept {
    const std::size_t whole =
        bytes == 0 ? alignment : (bytes + alignment - 1) / alignment * alignment;
    if (bytes > size_ || whole > size_) return std::nullopt;
    Position begin = end_;
    if (const std::size_t at = begin % size_; at + whole > size_) begin += size_ - at;
    if (begin + whole - begin_ > size_) return std::nullopt;
    end_ = begin + whole;
    return begin % size_;
  }
  // Behind all pieces that have been taken.
  Position end() const noexcept { return end_; }
  // All pieces before it are free. Where none is left the next one is at the beginning again: a
  // program that waits in each step uses the same memory in each, which the caches hold.
  void give_back_to(Position position) noexcept {
    if (position <= begin_) return;
    begin_ = position;
    if (begin_ == end_ && size_ != 0) begin_ = end_ = (end_ + size_ - 1) / size_ * size_;
  }
  std::size_t size() const noexcept { return size_; }
  std::size_t used() const noexcept { return end_ - begin_; }

 private:
  const std::size_t size_;
  Position begin_ = 0;
  Position end_ = 0;
};

}  // namespace penstock::enqueued
