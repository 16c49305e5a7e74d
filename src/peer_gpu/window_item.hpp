// SPDX-License-Identifier: Apache-2.0
// What a kernel does for one end of a window's pair, and the operations of all its origins, which
// travel with the launch: so a graph keeps them by value.
#pragma once

#include <cstdint>

#include "peer_gpu/batch.hpp"
#include "transport/operations.hpp"

namespace penstock::peer_gpu {

enum class WindowCall : std::uint8_t { post, complete, wait };

// Of a complete: which of the launch's operations are its own. A list that no launch can carry goes
// in several kernels, of which the last one ends the epoch.
struct WindowItem : Pair {
  WindowCall call = WindowCall::post;
  bool ends = true;
  std::uint16_t first = 0;
  std::uint16_t count = 0;
  std::uint32_t eager_cells = 0;  // of a slot; 0: all moves from memory to memory
};

// What HEAD has room for.
inline constexpr unsigned most_eager_puts = 3;
static_assert(1 + 2 * most_eager_puts <= wide_cells);

PENSTOCK_HD constexpr std::uint32_t cells_for(std::uint64_t bytes) {
  return static_cast<std::uint32_t>((bytes + cell_payload - 1) / cell_payload);
}

// What an operation moves may be cut into parts. Accumulates stay whole, in their order.
PENSTOCK_HD inline bool is_cut(const transport::Operation& operation) {
  return operation.verb != transport::Verb::accumulate;
}

inline constexpr int most_operations = 96;  // that a launch carries

}  // namespace penstock::peer_gpu
