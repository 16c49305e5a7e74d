// SPDX-License-Identifier: Apache-2.0
// The work that stands between messages: packing and unpacking, or filling and checking every byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <gpu_runtime.hpp>

#include "layout.hpp"

namespace penstock::bench {

// It lies on the device, so that a graph counts its messages in every launch.
struct CheckTally {
  unsigned long long filled;  // messages
  unsigned long long checked;
  unsigned long long wrong_bytes;
};

void enqueue_copy(cudaStream_t stream, std::byte* to, const std::byte* from, std::size_t bytes);
// Between rows, each followed by a gap, and `bytes` bytes without gaps.
void enqueue_gather(cudaStream_t stream, std::byte* to, std::byte* rows, std::size_t bytes,
                    const Layout& layout);
void enqueue_scatter(cudaStream_t stream, std::byte* rows, std::byte* from, std::size_t bytes,
                     const Layout& layout);
// Bytes depend on the sender, on the number of the message and on their place.
void enqueue_fill(cudaStream_t stream, std::byte* data, std::size_t bytes, unsigned sender,
                  CheckTally* tally);
void enqueue_check(cudaStream_t stream, const std::byte* data, std::size_t bytes, unsigned sender,
                   CheckTally* tally);

}  // namespace penstock::bench
