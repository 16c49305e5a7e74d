// SPDX-License-Identifier: Apache-2.0
// How many threads and blocks serve a pair. The limits are measured (docs/performance.md).
#pragma once

#include "transport/peer/cuda/batch.hpp"

namespace penstock::transport::peer::cuda {

struct Shape {
  std::uint16_t blocks = 1;
  std::uint16_t threads = 32;
};

// Into how many parts a message is cut: the same number at both ends, so the receiver says it.
std::uint16_t parts_for(Route route, std::uint64_t bytes, unsigned most_blocks) noexcept;

// `most_blocks` bounds kernels that only start; kernels that wait take half of them at most, because their blocks keep
// their places while they wait, and starts of other streams must find room beside them.
Shape shape_of_start(const Pair& pair, unsigned most_blocks) noexcept;
Shape shape_of_wait(const Pair& pair, unsigned most_blocks) noexcept;

}  // namespace penstock::transport::peer::cuda
