// SPDX-License-Identifier: Apache-2.0
// What the CUDA driver knows about an address.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::device::gpu {

struct MemoryRegion {
  bool on_device = false;  // memory of a device, managed memory too
  // Other processes can map it: cudaMalloc's, but not stream-ordered, VMM or managed memory.
  bool exportable = false;
  bool managed = false;
  int device = -1;
  std::uint64_t base = 0;  // of the allocation
  std::uint64_t bytes = 0;
  // No other allocation of the process has or will have this number.
  std::uint64_t allocation = 0;
};

// A process that has not loaded the driver has no such memory: then nothing is loaded or started.
MemoryRegion look_at(const void* address) noexcept;
// The same of what was memory of a device. Throws base::Error(transport) where it is no longer.
MemoryRegion region_of(const void* address);

}  // namespace penstock::device::gpu
