// SPDX-License-Identifier: Apache-2.0
// What the network moves from memory to memory for an epoch's list: each put and get, in pieces
// that it takes at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "transport/operations.hpp"

namespace penstock::ofi {

class WindowPieces {
 public:
  explicit WindowPieces(std::size_t most) noexcept : most_(most) {}

  // The list stays until done().
  void begin(const transport::Operations& list) noexcept {
    list_ = &list;
    at_ = through_ = left_ = 0;
    for (const transport::Operation& operation : list)
      if (is_moved(operation)) left_ += (operation.bytes - 1) / most_ + 1;
    find_next();
  }
  std::uint64_t left() const noexcept { return left_; }
  bool done() const noexcept { return left_ == 0; }
  transport::Operation piece() const noexcept {
    transport::Operation piece = (*list_)[at_];
    piece.origin = static_cast<std::byte*>(piece.origin) + through_;
    piece.displacement += through_;
    piece.bytes = std::min(piece.bytes - through_, most_);
    return piece;
  }
  void next() noexcept {
    through_ += piece().bytes;
    if (through_ == (*list_)[at_].bytes) {
      ++at_;
      through_ = 0;
    }
    --left_;
    find_next();
  }

 private:
  static bool is_moved(const transport::Operation& operation) noexcept {
    return operation.bytes > 0 && operation.verb != transport::Verb::accumulate;
  }
  void find_next() noexcept {
    while (left_ > 0 && !is_moved((*list_)[at_])) ++at_;
  }

  const std::size_t most_;
  const transport::Operations* list_ = nullptr;
  std::size_t at_ = 0;
  std::size_t through_ = 0;  // of that operation
  std::uint64_t left_ = 0;
};

}  // namespace penstock::ofi
