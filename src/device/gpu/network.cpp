// SPDX-License-Identifier: Apache-2.0
// What network cards can do with memory of the device.
#include <gpu_runtime.hpp>

#include "device/gpu.hpp"
#include "device/gpu/driver.hpp"
#include "device/gpu/memory.hpp"
#include "device/gpu/runtime.hpp"

namespace penstock::device {

#if PENSTOCK_HIP

// HIP has no attributes for it.
base::Verdict network_reaches(const void* address, bool) {
  return gpu::look_at(address).managed ? base::refused("networks do not reach managed memory")
                                       : base::accepted();
}

#else

namespace {

bool cards_reach(const void* address) noexcept {
  using PointerGetAttribute = CUresult (*)(void*, CUpointer_attribute, CUdeviceptr);
  static const auto get =
      reinterpret_cast<PointerGetAttribute>(gpu::driver_function("cuPointerGetAttribute", 4000));
  unsigned capable = 0;
  return get != nullptr &&
         get(&capable, CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE,
             reinterpret_cast<CUdeviceptr>(address)) == CUDA_SUCCESS &&
         capable != 0;
}

bool sees_writes_in_order(int device) noexcept {
  int order = 0;
  return gpu::succeeded(
             cudaDeviceGetAttribute(&order, cudaDevAttrGPUDirectRDMAWritesOrdering, device)) &&
         order >= cudaGPUDirectRDMAWritesOrderingOwner;
}

}  // namespace

base::Verdict network_reaches(const void* address, bool written) {
  const gpu::MemoryRegion region = gpu::look_at(address);
  if (!region.on_device) return base::accepted();
  if (!cards_reach(address))
    return base::refused("network cards do not reach this kind of memory (GPUDirect RDMA)");
  // Nobody could flush them: the stream goes on without the host.
  if (written && !sees_writes_in_order(region.device))
    return base::refused(
        "the device sees what a network card has written only after a flush by the host");
  return base::accepted();
}

#endif

}  // namespace penstock::device
