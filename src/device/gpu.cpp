// SPDX-License-Identifier: Apache-2.0
#include "device/gpu.hpp"

#include "base/error.hpp"

namespace penstock::device {

base::Error not_built_in(Vendor vendor) {
  const std::string name = vendor == Vendor::hip ? "HIP" : "CUDA";
  return {base::ErrorKind::unsupported, "PST_QUEUE_" + name +
                                            " is not built into this library: build one with cmake "
                                            "-DPENSTOCK_" +
                                            name + "=ON, or use PST_QUEUE_HOST"};
}

GpuAllocation KnownGpuAllocations::find(const void* address) noexcept {
  for (const GpuAllocation& each : known_)
    if (each.holds(address)) return each;
  const GpuAllocation found = gpu_allocation(address);
  if (found.holds(address)) known_[oldest_++ % known_.size()] = found;
  return found;
}

}  // namespace penstock::device
