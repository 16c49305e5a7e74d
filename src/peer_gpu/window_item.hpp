// SPDX-License-Identifier: Apache-2.0
// What a kernel does for one end of a window's pair.
#pragma once

#include <cstdint>

#include "peer_gpu/batch.hpp"
#include "transport/operations.hpp"

namespace penstock::peer_gpu {

// In the order in which a launch has them: a post alone waits for nothing.
enum class WindowCall : std::uint8_t { post, open, complete, wait };

struct WindowItem : Pair {
  WindowCall call = WindowCall::post;
  // Of a complete. Which of the launch's operations are its own. A list that no launch can carry
  // goes in several kernels, of which the last one ends the epoch.
  std::uint16_t first = 0;
  std::uint16_t count = 0;
  bool ends_epoch = true;
  transport::Promise promise = transport::Promise::none;
  bool stored = false;            // the program's kernels have stored into the target's memory
  std::uint32_t eager_cells = 0;  // of a slot; 0: all moves from memory to memory
};

inline constexpr unsigned head_cells = 8;  // of a slot's HEAD (window_head.cuh)
// What HEAD has room for.
inline constexpr unsigned most_eager_puts = 3;
static_assert(1 + 2 * most_eager_puts <= head_cells);

PENSTOCK_HD constexpr std::uint32_t cells_for(std::uint64_t bytes) {
  return static_cast<std::uint32_t>((bytes + cell_payload - 1) / cell_payload);
}

// What an operation moves may be cut into parts. Accumulates stay whole, in their order.
PENSTOCK_HD inline bool is_cut(const transport::Operation& operation) {
  return operation.verb != transport::Verb::accumulate;
}

inline constexpr int most_operations = 96;  // that a launch carries

}  // namespace penstock::peer_gpu
