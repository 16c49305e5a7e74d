// SPDX-License-Identifier: Apache-2.0
#include "gpu/pinned.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <gpu_runtime.hpp>

#include "device/gpu/runtime.hpp"

namespace penstock::gpu {

namespace {

constexpr std::size_t pieces_in_chunk = 1024;
constexpr std::size_t smallest_block = 4096;
constexpr std::size_t large_block = std::size_t{1} << 20;

// Few sizes, so that blocks are used again; large ones are not rounded up by much.
std::size_t block_size(std::size_t bytes) {
  if (bytes < large_block) return std::bit_ceil(std::max(bytes, smallest_block));
  return (bytes + large_block - 1) / large_block * large_block;
}

}  // namespace

PinnedPool::~PinnedPool() {
  for (void* chunk : chunks_) cudaFreeHost(chunk);
}

void* PinnedPool::allocate(std::size_t bytes) {
  const device::gpu::RelaxedCaptures relaxed;
  void* chunk = nullptr;
  device::gpu::check(cudaHostAlloc(&chunk, bytes, cudaHostAllocPortable | cudaHostAllocMapped),
                     "cudaHostAlloc");
  chunks_.push_back(chunk);
  return chunk;
}

std::shared_ptr<void> PinnedPool::take() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) {
    void* const chunk = allocate(piece * pieces_in_chunk);
    for (std::size_t i = 0; i < pieces_in_chunk; ++i)
      free_.push_back(static_cast<std::byte*>(chunk) + i * piece);
  }
  void* const address = free_.back();
  free_.pop_back();
  std::memset(address, 0, piece);
  return {address, [self = shared_from_this()](void* at) {
            const std::lock_guard give_back(self->mutex_);
            self->free_.push_back(at);
          }};
}

std::shared_ptr<std::byte> PinnedPool::take(std::size_t bytes) {
  const std::size_t size = block_size(bytes);
  const std::lock_guard lock(mutex_);
  std::vector<void*>& free = free_blocks_[size];
  void* block = nullptr;
  if (free.empty()) {
    block = allocate(size);
  } else {
    block = free.back();
    free.pop_back();
  }
  return {static_cast<std::byte*>(block), [self = shared_from_this(), size](std::byte* at) {
            const std::lock_guard give_back(self->mutex_);
            self->free_blocks_[size].push_back(at);
          }};
}

}  // namespace penstock::gpu
