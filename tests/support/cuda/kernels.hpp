// SPDX-License-Identifier: Apache-2.0
// What the ends of a sequence do on a CUDA stream. Epochs are counted on the device, so that a
// graph may hold any of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <gpu_runtime.hpp>

namespace penstock::test {

// In pinned memory.
struct Counts {
  std::uint64_t epochs;
  std::uint64_t complaints;   // wrong bytes
  std::uint64_t first_epoch;  // of the first of them: epochs by then
  std::uint64_t first_byte;
  std::uint64_t first_bytes;  // of how many
};

// The pattern of support/pattern.hpp, of epoch counts.epochs + 1.
void enqueue_fill(cudaStream_t stream, std::byte* data, std::size_t bytes, std::uint64_t key,
                  const Counts* counts);
void enqueue_check(cudaStream_t stream, const std::byte* data, std::size_t bytes, std::uint64_t key,
                   Counts* counts);
void enqueue_check_value(cudaStream_t stream, const std::byte* data, std::size_t bytes,
                         std::uint8_t value, Counts* counts);
void enqueue_count(cudaStream_t stream, Counts* counts);  // an epoch more
void enqueue_set(cudaStream_t stream, std::byte* data, std::size_t bytes, std::uint8_t value);
void enqueue_spin(cudaStream_t stream, std::uint64_t microseconds);
// Blocks of the largest size, each for a time of its own, up to `most_microseconds`.
void enqueue_crowd(cudaStream_t stream, unsigned blocks, std::uint64_t most_microseconds,
                   std::uint64_t salt);
// Blocks of the largest size, all for the same time.
void enqueue_occupy(cudaStream_t stream, unsigned blocks, std::uint64_t microseconds);
// Twice as many blocks as a GPU has places for, whatever their size, that may take them while the
// kernel before them still runs, and do nothing but wait for its end.
void enqueue_dependent(cudaStream_t stream);
// Like spin, for a test of a kernel that has never been launched.
void enqueue_never_loaded(cudaStream_t stream);
// All kernels but that one are loaded: a first launch may wait for the device.
void load_kernels();

}  // namespace penstock::test
