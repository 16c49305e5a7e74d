// SPDX-License-Identifier: Apache-2.0
#include "ends.hpp"

#include <mpi.h>

#include <exception>

#include "cuda/cuda_check.hpp"

namespace penstock::bench::floor {
namespace {

// It makes an allocation of its own, so that its handle names its beginning.
constexpr std::size_t page = std::size_t{2} << 20;

std::size_t rounded(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

std::size_t ring_bytes(Way way, std::size_t bytes) {
  return way != Way::push ? slots * (bytes / cell_payload) * sizeof(Cell) : 0;
}

End lay_out(void* base, std::size_t ring) {
  auto* const bytes = static_cast<std::byte*>(base);
  const std::size_t words = rounded(sizeof(Words), 4096);
  return {static_cast<Words*>(base), reinterpret_cast<Cell*>(bytes + words),
          bytes + words + rounded(ring, 4096)};
}

}  // namespace

Ends::Ends(Way way, std::size_t bytes, int rank) {
  const std::size_t ring = ring_bytes(way, bytes);
  const std::size_t size =
      rounded(rounded(sizeof(Words), 4096) + rounded(ring, 4096) + bytes, page);
  CHECK_CUDA(cudaMalloc(&own_base_, size));
  CHECK_CUDA(cudaMemset(own_base_, 0, size));
  CHECK_CUDA(cudaDeviceSynchronize());
  cudaIpcMemHandle_t ours{};
  cudaIpcMemHandle_t theirs{};
  CHECK_CUDA(cudaIpcGetMemHandle(&ours, own_base_));
  MPI_Sendrecv(&ours, sizeof ours, MPI_BYTE, 1 - rank, 0, &theirs, sizeof theirs, MPI_BYTE,
               1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK_CUDA(cudaIpcOpenMemHandle(&peer_base_, theirs, cudaIpcMemLazyEnablePeerAccess));
  own_ = lay_out(own_base_, ring);
  peer_ = lay_out(peer_base_, ring);
}

// The peer closes its mapping before the memory goes. After an error it may not come to the
// barrier.
Ends::~Ends() {
  cudaIpcCloseMemHandle(peer_base_);
  if (std::uncaught_exceptions() == 0) MPI_Barrier(MPI_COMM_WORLD);
  cudaFree(own_base_);
}

}  // namespace penstock::bench::floor
