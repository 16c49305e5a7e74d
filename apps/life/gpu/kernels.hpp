// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::life::gpu {

// A block within an array that has `stride` cells a row; `cells` is the block's first one.
struct Cells {
  std::uint8_t* cells;
  std::ptrdiff_t stride;
  int width;
  int height;
};

// `stream` is a cudaStream_t or hipStream_t. Both throw where the launch fails.
void step(void* stream, const Cells& from, std::uint8_t* to);
// Adds to census[1 + census[0]], then counts census[0] up. The block begins at (x, y) of a grid
// with `columns` cells in x.
void count(void* stream, const Cells& cells, int x, int y, int columns, std::uint64_t* census);

// Before anything waits on the device, or is captured: a kernel's first launch may load it.
void load();

}  // namespace penstock::life::gpu
