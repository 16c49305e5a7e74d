// SPDX-License-Identifier: Apache-2.0
// What the ends of a sequence do on a CUDA stream. Epochs are counted on the device, so that a graph may hold any of
// it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace penstock::test {

// In pinned memory.
struct Tally {
  std::uint64_t epochs;
  std::uint64_t complaints;   // wrong bytes
  std::uint64_t first_epoch;  // of the first of them
  std::uint64_t first_byte;
};

// The pattern of support/pattern.hpp, of epoch tally.epochs + 1; then counts that one.
void enqueue_fill(cudaStream_t stream, std::byte* data, std::size_t bytes, std::uint64_t key, Tally* tally);
// Compares it, and that the bytes from `bytes` to `room` hold `clear_value`; then counts that epoch.
void enqueue_check(cudaStream_t stream, const std::byte* data, std::size_t bytes, std::size_t room, std::uint64_t key,
                   std::uint8_t clear_value, Tally* tally);
void enqueue_check_value(cudaStream_t stream, const std::byte* data, std::size_t bytes, std::uint8_t value,
                         Tally* tally);
void enqueue_set(cudaStream_t stream, std::byte* data, std::size_t bytes, std::uint8_t value);
void enqueue_spin(cudaStream_t stream, std::uint64_t microseconds);
// All kernels are loaded: a first launch may wait for the device.
void load_kernels();

}  // namespace penstock::test
