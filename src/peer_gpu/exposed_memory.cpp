// SPDX-License-Identifier: Apache-2.0
#include "peer_gpu/exposed_memory.hpp"

#include "base/error.hpp"
#include "device/gpu.hpp"
#include "device/gpu/memory.hpp"
#include "device/gpu/runtime.hpp"

namespace penstock::peer_gpu {

using base::Error;
using base::ErrorKind;

namespace {

// What this process has itself mapped from another one, as a team's memory, only that one exports.
void export_to(MemoryRecord& record, const void* memory) {
  try {
    record.place = gpu::export_memory(memory);
    record.exported = 1;
  } catch (const Error&) {
  }
}

}  // namespace

MemoryRecord expose(const gpu::Devices& devices, const void* memory, std::size_t bytes) {
  const device::gpu::MemoryRegion region = device::gpu::region_of(memory);
  MemoryRecord record;
  record.device = region.device;
  record.device_identity = devices.identity(region.device);
  record.place.address = reinterpret_cast<std::uint64_t>(memory);
  const bool inside = bytes <= region.base + region.bytes - record.place.address;
  if (region.exportable && inside) export_to(record, memory);
  return record;
}

std::shared_ptr<std::byte> RemoteMemory::reach(int owner, int ours, int theirs,
                                               const gpu::DevicePlace& place) {
  if (owner != rank_) return imports_.open(owner, ours, place);
  devices_.connect(ours, theirs);
  return {std::shared_ptr<void>(), reinterpret_cast<std::byte*>(place.address)};
}

}  // namespace penstock::peer_gpu
