// SPDX-License-Identifier: Apache-2.0
#include "device/gpu/memory.hpp"

#include <array>
#include <gpu_runtime.hpp>

#include "base/error.hpp"
#include "device/gpu.hpp"
#include "device/gpu/driver.hpp"

namespace penstock::device::gpu {
namespace {

using PointerGetAttributes = CUresult (*)(unsigned, CUpointer_attribute*, void**, CUdeviceptr);

}  // namespace

MemoryRegion look_at(const void* address) noexcept {
  MemoryRegion region;
  if (address == nullptr || !driver_is_loaded()) return region;
  static const auto get_attributes =
      reinterpret_cast<PointerGetAttributes>(driver_function("cuPointerGetAttributes", 7000));
  if (get_attributes == nullptr) return region;

  unsigned type = 0, managed = 0, exportable = 0;
  int device = -1;
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  unsigned long long number = 0;
  std::array<CUpointer_attribute, 7> names{CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                           CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                           CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                           CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                           CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                           CU_POINTER_ATTRIBUTE_BUFFER_ID,
                                           CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE};
  std::array<void*, 7> values{&type, &managed, &device, &base, &bytes, &number, &exportable};
  if (get_attributes(static_cast<unsigned>(names.size()), names.data(), values.data(),
                     reinterpret_cast<CUdeviceptr>(address)) != CUDA_SUCCESS)
    return region;  // unknown to the driver: ordinary memory
  region.on_device = type == CU_MEMORYTYPE_DEVICE || managed != 0;
  region.managed = managed != 0;
  region.exportable = region.on_device && managed == 0 && exportable != 0;
  region.device = device;
  // Managed memory may belong to no device, and any device reaches it.
  if (managed != 0 && device < 0 && cudaGetDevice(&region.device) != cudaSuccess)
    region.device = -1;
  region.base = base;
  region.bytes = bytes;
  region.allocation = number;
  return region;
}

MemoryRegion region_of(const void* address) {
  const MemoryRegion region = look_at(address);
  if (!region.on_device)
    throw base::Error(base::ErrorKind::transport,
                      "the buffer is no longer " PENSTOCK_GPU " memory");
  return region;
}

}  // namespace penstock::device::gpu

namespace penstock::device {

MemoryKind memory_kind(const void* address) noexcept {
  return gpu::look_at(address).on_device ? MemoryKind::cuda : MemoryKind::host;
}

int gpu_of(const void* address) noexcept {
  return gpu::look_at(address).device;
}

GpuAllocation gpu_allocation(const void* address) noexcept {
  const gpu::MemoryRegion region = gpu::look_at(address);
  if (!region.on_device) return {};
  return {region.base, region.bytes, region.device, region.managed};
}

}  // namespace penstock::device
