// SPDX-License-Identifier: Apache-2.0
// Registered memory for the words of many halves: a region for each half would cost a registration
// a match. Apart from the regions whose arrivals trigger something, so that signals do not.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "ofi/fabric.hpp"
#include "ofi/words.hpp"

namespace penstock::ofi {

class WordPool {
 public:
  explicit WordPool(Fabric& fabric) : fabric_(fabric) {}

  struct Position {
    PairWords* words = nullptr;
    const Region* region = nullptr;
  };
  Position take();  // zeroed; throws base::Error
  void give(const Position& place) noexcept;

 private:
  static constexpr std::size_t per_chunk = 256;
  struct WordChunk {
    alignas(4096) std::array<PairWords, per_chunk> words;
    Region region;
  };

  Fabric& fabric_;
  std::vector<std::unique_ptr<WordChunk>> chunks_;
  std::vector<Position> free_;  // has room for all there are
};

}  // namespace penstock::ofi
