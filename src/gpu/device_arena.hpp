// SPDX-License-Identifier: Apache-2.0
// One device's memory for the control words and rings of pairs: taken from the device in slabs, so
// that a match seldom has to ask it for memory, and exported to other processes a slab at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <gpu_runtime.hpp>
#include <map>
#include <memory>
#include <mutex>

#include "base/free_ranges.hpp"

namespace penstock::gpu {

// Where memory of a device is, for another process: an allocation and a place in it. Travels in
// handshakes.
struct DevicePlace {
  cudaIpcMemHandle_t allocation{};
  // It numbers the allocations of its process, because a handle may come again after a free.
  std::uint64_t number = 0;
  std::uint64_t offset = 0;
  std::uint64_t address = 0;  // in its own process
};

class DeviceArena : public std::enable_shared_from_this<DeviceArena> {
 public:
  explicit DeviceArena(int device);  // throws Error
  ~DeviceArena();

  // Zeroed bytes, aligned to device_line. Throws Error. Any thread. They go back with the last
  // owner, who keeps the arena.
  std::shared_ptr<std::byte> allocate(std::size_t bytes);
  // The same without waiting for the device, which may be full of kernels that wait for the caller:
  // they are zero when idle() has been true.
  std::shared_ptr<std::byte> begin_allocate(std::size_t bytes);
  bool idle() const noexcept;
  // Copies from the device, apart from what the program's streams do. What cannot be read is left
  // as it is.
  void read(void* to, const void* from, std::size_t bytes) noexcept;
  void write(std::byte* to, const void* from, std::size_t bytes);  // the same; throws Error
  int device() const noexcept { return device_; }
  cudaStream_t stream() const noexcept { return stream_; }

 private:
  struct Slab {
    std::uint64_t base;
    std::uint64_t bytes;
  };
  void grow(std::size_t bytes);
  void free(std::uint64_t address, std::size_t bytes) noexcept;

  int device_;
  cudaStream_t stream_ = nullptr;
  mutable std::mutex mutex_;
  base::Ranges ranges_;  // of addresses
  std::map<std::uint64_t, Slab> slabs_;
};

// How another process opens the allocation that holds this address. Throws Error(unsupported).
DevicePlace export_memory(const void* address);

}  // namespace penstock::gpu
