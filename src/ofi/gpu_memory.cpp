// SPDX-License-Identifier: Apache-2.0
#include "ofi/gpu_memory.hpp"

#include <fmt/format.h>
#include <rdma/fi_errno.h>

#include <cstring>

namespace penstock::ofi {

namespace {

bool same_interface(const fi_info& one, const fi_info& other) {
  const auto same = [](const char* name, const char* another) {
    return std::strcmp(name != nullptr ? name : "", another != nullptr ? another : "") == 0;
  };
  return same(one.fabric_attr->prov_name, other.fabric_attr->prov_name) &&
         same(one.fabric_attr->name, other.fabric_attr->name) &&
         same(one.domain_attr->name, other.domain_attr->name) &&
         one.addr_format == other.addr_format && address_of(one) == address_of(other);
}

}  // namespace

void ask_for_gpu_memory(fi_info& hints) noexcept {
  hints.caps |= FI_HMEM;
  hints.domain_attr->mr_mode |= FI_MR_HMEM;
}

FabricInfo with_gpu_memory(const fi_info& chosen) {
  const FabricInfo hints = make_hints();
  ask_for_gpu_memory(*hints);
  const FabricInfo list = ask(hints.get());
  for (fi_info* one = list.get(); one != nullptr; one = one->next)
    if (takes_gpu_memory(*one) && same_interface(*one, chosen) && trial(*one).empty())
      return FabricInfo(libfabric().dupinfo(one));
  return nullptr;
}

base::Verdict forbid_gpu_calls([[maybe_unused]] fid_ep& endpoint) {
  // Those of ROCr, which providers call for memory of AMD's GPUs, know no streams.
  if constexpr (device::built_for == device::Vendor::hip) return base::accepted();
  const bool permitted = false;
  const int code =
      fi_setopt(&endpoint.fid, FI_OPT_ENDPOINT, cuda_api_permitted, &permitted, sizeof permitted);
  if (code == 0) return base::accepted();
  return base::refused(
      fmt::format("the provider may call CUDA to move it, which could wait for the stream "
                  "that waits for the data (FI_OPT_CUDA_API_PERMITTED: {}); "
                  "PENSTOCK_OFI_HMEM=1 allows it on streams made with cudaStreamNonBlocking",
                  libfabric().strerror(-code)));
}

}  // namespace penstock::ofi
