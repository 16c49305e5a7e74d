// SPDX-License-Identifier: Apache-2.0
// Memory of GPUs as libfabric takes it (FI_HMEM): whether the provider does, and on which terms.
#pragma once

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/verdict.hpp"
#include "device/gpu.hpp"
#include "ofi/provider.hpp"

namespace penstock::ofi {

// Whose memory it is, as regions name it.
inline constexpr fi_hmem_iface gpu_interface =
    device::built_for == device::Vendor::hip ? FI_HMEM_ROCR : FI_HMEM_CUDA;

// The option FI_OPT_CUDA_API_PERMITTED of endpoints, which headers have from libfabric 1.18 on.
inline constexpr int cuda_api_permitted = FI_OPT_XPU_TRIGGER + 1;

void ask_for_gpu_memory(fi_info& hints) noexcept;
inline bool takes_gpu_memory(const fi_info& info) noexcept {
  return (info.caps & FI_HMEM) != 0;
}

// The same interface of the same provider, with memory of GPUs; null where it does not take that.
// The addresses are the same, so processes of a job need not agree. Throws base::Error(resources).
FabricInfo with_gpu_memory(const fi_info& chosen);

// Has the provider promise, before the endpoint is enabled, not to call the GPU's runtime when it
// moves data: such a call may wait for a stream that waits for that data. Whether it has.
base::Verdict forbid_gpu_calls(fid_ep& endpoint);

}  // namespace penstock::ofi
