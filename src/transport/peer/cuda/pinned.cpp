// SPDX-License-Identifier: Apache-2.0
#include "transport/peer/cuda/pinned.hpp"

#include <cuda_runtime_api.h>

#include <cstring>

#include "device/cuda/runtime.hpp"

namespace penstock::transport::peer::cuda {

namespace {

constexpr std::size_t pieces_in_chunk = 1024;

}  // namespace

PinnedPool::~PinnedPool() {
  for (void* chunk : chunks_) cudaFreeHost(chunk);
}

std::shared_ptr<void> PinnedPool::take() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) {
    void* chunk = nullptr;
    device::cuda::check(cudaHostAlloc(&chunk, piece * pieces_in_chunk, cudaHostAllocPortable | cudaHostAllocMapped),
                        "cudaHostAlloc");
    chunks_.push_back(chunk);
    for (std::size_t i = 0; i < pieces_in_chunk; ++i) free_.push_back(static_cast<std::byte*>(chunk) + i * piece);
  }
  void* const address = free_.back();
  free_.pop_back();
  std::memset(address, 0, piece);
  return {address, [self = shared_from_this()](void* at) {
            const std::lock_guard give_back(self->mutex_);
            self->free_.push_back(at);
          }};
}

}  // namespace penstock::transport::peer::cuda
