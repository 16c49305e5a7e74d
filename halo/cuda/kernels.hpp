// SPDX-License-Identifier: Apache-2.0
// Packing and unpacking: one kernel for all messages, steered by tables in device memory.
#pragma once

#include <gpu_runtime.hpp>

#include "../table.hpp"

namespace penstock::halo {

// The elements of a box that one block of threads moves: `chunk_elements` from `first` on, or as
// many as there are.
struct Chunk {
  std::uint64_t first;
  std::uint32_t box;
};
inline constexpr std::uint64_t chunk_elements = 1024;

// The table in device memory.
struct DeviceTable {
  const Box* boxes;
  const Part* parts;
  const Chunk* chunks;
};

// Where the arrays lie in this exchange.
struct Addresses {
  std::byte* arrays[detail::max_arrays];
  std::byte* messages;
};

// The table's chunks from `first` on, `count` of them.
struct ChunkRange {
  unsigned first;
  unsigned count;
};

cudaError_t launch_pack(cudaStream_t stream, const DeviceTable& table, ChunkRange range,
                        const Addresses& addresses);
cudaError_t launch_unpack(cudaStream_t stream, const DeviceTable& table, ChunkRange range,
                          const Addresses& addresses, Reduction reduction);
// A kernel's first launch may wait for the device, or be forbidden in a capture.
cudaError_t load_kernels();

}  // namespace penstock::halo
