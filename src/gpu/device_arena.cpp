// SPDX-License-Identifier: Apache-2.0
#include "gpu/device_arena.hpp"

#include <algorithm>
#include <iterator>

#include "device/gpu/memory.hpp"
#include "device/gpu/runtime.hpp"
#include "gpu/words.hpp"

namespace penstock::gpu {

using device::gpu::check;
using device::gpu::DeviceGuard;

namespace {

constexpr std::size_t smallest_slab = std::size_t{8} << 20;

std::size_t round_up(std::size_t bytes) {
  return (std::max<std::size_t>(bytes, 1) + device_line - 1) / device_line * device_line;
}

}  // namespace

DeviceArena::DeviceArena(int device) : device_(device) {
  const DeviceGuard guard(device);
  const device::gpu::RelaxedCaptures relaxed;
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
  grow(smallest_slab);
}

DeviceArena::~DeviceArena() {
  const DeviceGuard guard(device_);
  for (const auto& [base, slab] : slabs_) cudaFree(reinterpret_cast<void*>(slab.base));
  cudaStreamDestroy(stream_);
}

void DeviceArena::grow(std::size_t bytes) {
  const std::size_t size = std::max(round_up(bytes), smallest_slab);
  void* base = nullptr;
  check(vendor::allocate_coherent(&base, size), "memory for control words and rings");
  const auto address = reinterpret_cast<std::uint64_t>(base);
  try {
    slabs_.emplace(address, Slab{address, size});
    ranges_.add_chunk(address, size);
  } catch (...) {
    slabs_.erase(address);
    cudaFree(base);
    throw;
  }
}

std::shared_ptr<std::byte> DeviceArena::allocate(std::size_t bytes) {
  std::shared_ptr<std::byte> block = begin_allocate(bytes);
  const DeviceGuard guard(device_);
  const device::gpu::RelaxedCaptures relaxed;
  check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  return block;
}

bool DeviceArena::idle() const noexcept {
  const DeviceGuard guard(device_);
  const device::gpu::RelaxedCaptures relaxed;
  return device::gpu::succeeded(cudaStreamQuery(stream_));
}

std::shared_ptr<std::byte> DeviceArena::begin_allocate(std::size_t bytes) {
  const DeviceGuard guard(device_);
  const device::gpu::RelaxedCaptures relaxed;
  const std::size_t size = round_up(bytes);
  std::uint64_t address = 0;
  {
    const std::lock_guard lock(mutex_);
    auto found = ranges_.take(size, device_line);
    if (!found) {
      grow(size);
      found = ranges_.take(size, device_line);
    }
    address = *found;
  }
  std::shared_ptr<std::byte> block(reinterpret_cast<std::byte*>(address),
                                   [self = shared_from_this(), size](std::byte* at) {
                                     self->free(reinterpret_cast<std::uint64_t>(at), size);
                                   });
  check(cudaMemsetAsync(block.get(), 0, size, stream_), "cudaMemsetAsync");
  return block;
}

void DeviceArena::free(std::uint64_t address, std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  ranges_.give(address, bytes);
}

void DeviceArena::read(void* to, const void* from, std::size_t bytes) noexcept {
  const DeviceGuard guard(device_);
  const device::gpu::RelaxedCaptures relaxed;
  if (cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_) == cudaSuccess)
    cudaStreamSynchronize(stream_);
}

void DeviceArena::write(std::byte* to, const void* from, std::size_t bytes) {
  const DeviceGuard guard(device_);
  const device::gpu::RelaxedCaptures relaxed;
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_), "cudaMemcpyAsync");
  check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
}

DevicePlace export_memory(const void* address) {
  const device::gpu::MemoryRegion region = device::gpu::look_at(address);
  if (!region.exportable)
    throw base::Error(base::ErrorKind::unsupported,
                      "the memory cannot be exported to another process");
  DevicePlace place;
  place.address = reinterpret_cast<std::uint64_t>(address);
  place.number = region.allocation;
  place.offset = place.address - region.base;
  const DeviceGuard guard(region.device);
  const device::gpu::RelaxedCaptures relaxed;
  check(cudaIpcGetMemHandle(&place.allocation, reinterpret_cast<void*>(region.base)),
        "cudaIpcGetMemHandle");
  return place;
}

}  // namespace penstock::gpu
