// SPDX-License-Identifier: Apache-2.0
// GPU memory of this process that other processes' GPUs may access, and theirs that ours may
// access. Pairs use it for buffers and words; it knows nothing of pairs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "gpu/device_arena.hpp"
#include "gpu/devices.hpp"
#include "peer_gpu/imports.hpp"

namespace penstock::peer_gpu {

// Memory of the program's, as it travels.
struct MemoryRecord {
  std::uint32_t exported = 0;  // otherwise only its own process reaches it
  std::int32_t device = -1;    // in its own process
  gpu::DeviceIdentity device_identity{};
  gpu::DevicePlace place;
};

// Throws Error(transport) where it is no longer memory of a GPU.
MemoryRecord expose(const gpu::Devices& devices, const void* memory, std::size_t bytes);

// GPU memory of all processes of the job, this one's included.
class RemoteMemory {
 public:
  RemoteMemory(int own_rank, gpu::Devices& devices) : rank_(own_rank), devices_(devices) {}

  // The place on device `theirs` of process `owner`, as kernels on our device `ours` address it.
  // Throws Error(transport). It stays mapped at least as long as the pointer that is returned.
  std::shared_ptr<std::byte> reach(int owner, int ours, int theirs, const gpu::DevicePlace& place);
  void close_unused() noexcept { imports_.close_unused(); }

 private:
  const int rank_;
  gpu::Devices& devices_;
  Imports imports_;
};

}  // namespace penstock::peer_gpu
