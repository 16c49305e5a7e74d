// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "common/memory.hpp"
#include "faces/geometry.hpp"

namespace penstock::faces {

// Memory for one message of each direction in which there is a neighbour, each on pages of its own.
class SideBuffers {
 public:
  static constexpr std::size_t padding = 4096;

  // `make` gives memory of the bytes that it is asked for.
  template <class Make>
  SideBuffers(const Block& block, Make&& make) : block_(block), memory_(make(bytes_for(block))) {
    std::size_t at = 0;
    for (int direction = 0; direction < directions; ++direction) {
      if (!has_neighbour(block, direction)) continue;
      sides_.side[direction] = reinterpret_cast<double*>(memory_.data() + at);
      at += padded(direction);
    }
  }

  const Sides& sides() const noexcept { return sides_; }
  std::span<double> message(int direction) const {
    return {sides_.side[direction], layout_of(block_, direction).size()};
  }

 private:
  static std::size_t bytes_for(const Block& block) {
    std::size_t bytes = 0;
    for (int direction = 0; direction < directions; ++direction)
      if (has_neighbour(block, direction)) bytes += padded(block, direction);
    return bytes;
  }
  static std::size_t padded(const Block& block, int direction) {
    return (layout_of(block, direction).size() * sizeof(double) + padding - 1) / padding * padding;
  }
  std::size_t padded(int direction) const { return padded(block_, direction); }

  Block block_;
  examples::Memory memory_;
  Sides sides_{};
};

}  // namespace penstock::faces
