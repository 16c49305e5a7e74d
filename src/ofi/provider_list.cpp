// SPDX-License-Identifier: Apache-2.0
#include "ofi/provider_list.hpp"

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "ofi/gpu_memory.hpp"
#include "ofi/provider.hpp"

namespace penstock::ofi {
namespace {

struct Requirement {
  std::uint64_t capability;
  const char* missing;
};

// Each is asked for beside those before it: the first one that an interface is not offered with is
// why it does not serve.
constexpr std::array requirements{
    Requirement{0, "has no reliable endpoints without connections (FI_EP_RDM)"},
    Requirement{FI_RMA, "cannot write into the memory of others (FI_RMA)"},
    Requirement{FI_ATOMIC, "has no atomic operations (FI_ATOMIC)"},
    Requirement{FI_TRIGGER, "cannot defer work (FI_TRIGGER)"},
    Requirement{FI_RMA_EVENT, "does not count what arrives in a region (FI_RMA_EVENT)"},
};

// What `info` is an offer of.
ProviderVerdict describe(const fi_info& info) {
  return {.provider = text(info.fabric_attr->prov_name),
          .fabric = text(info.fabric_attr->name),
          .domain = text(info.domain_attr->name),
          .address = address_of(info),
          .serves = false,
          .gpu_memory = false,
          .why = {}};
}

bool same(const ProviderVerdict& one, const ProviderVerdict& other) {
  return one.provider == other.provider && one.fabric == other.fabric &&
         one.domain == other.domain && one.address == other.address;
}

fi_info* find(fi_info* list, const ProviderVerdict& wanted) {
  while (list != nullptr && !same(describe(*list), wanted)) list = list->next;
  return list;
}

// Of what the requirements ask for nothing else keeps an interface away.
FabricInfo undemanding_hints(std::uint64_t capabilities) {
  FabricInfo hints = make_hints();
  hints->caps = capabilities;
  hints->mode = FI_CONTEXT | FI_CONTEXT2 | FI_MSG_PREFIX | FI_ASYNC_IOV | FI_RX_CQ_DATA;
  hints->domain_attr->threading = FI_THREAD_UNSPEC;
  hints->domain_attr->data_progress = FI_PROGRESS_UNSPEC;
  hints->domain_attr->av_type = FI_AV_UNSPEC;
  hints->domain_attr->resource_mgmt = FI_RM_UNSPEC;
  hints->domain_attr->mr_mode |= FI_MR_RAW | FI_MR_MMU_NOTIFY | FI_MR_RMA_EVENT | FI_MR_HMEM;
  return hints;
}

std::vector<ProviderVerdict> everything() {
  std::vector<ProviderVerdict> verdicts;
  const FabricInfo all = ask(nullptr);
  for (const fi_info* one = all.get(); one != nullptr; one = one->next) {
    const ProviderVerdict verdict = describe(*one);
    if (std::none_of(verdicts.begin(), verdicts.end(),
                     [&](const auto& other) { return same(verdict, other); }))
      verdicts.push_back(verdict);
  }
  return verdicts;
}

void look_for_capabilities(std::vector<ProviderVerdict>& verdicts) {
  std::uint64_t capabilities = 0;
  for (const Requirement& requirement : requirements) {
    capabilities |= requirement.capability;
    const FabricInfo list = ask(undemanding_hints(capabilities).get());
    for (ProviderVerdict& verdict : verdicts)
      if (verdict.why.empty() && find(list.get(), verdict) == nullptr)
        verdict.why = requirement.missing;
  }
}

void try_out(std::vector<ProviderVerdict>& verdicts, const base::Settings& settings) {
  const FabricInfo list = ask(make_hints().get());
  const FabricInfo gpu_hints = make_hints();
  ask_for_gpu_memory(*gpu_hints);
  const FabricInfo with_gpus = ask(gpu_hints.get());
  for (ProviderVerdict& verdict : verdicts) {
    if (!verdict.why.empty()) continue;
    fi_info* const info = find(list.get(), verdict);
    if (info == nullptr) {
      verdict.why = "asks its user for more than this transport does (mode, mr_mode or progress)";
      continue;
    }
    verdict.why = reason_to_skip(*info, settings);
    if (verdict.why.empty()) verdict.why = trial(*info);
    verdict.serves = verdict.why.empty();
    if (!verdict.serves) continue;
    verdict.gpu_memory = find(with_gpus.get(), verdict) != nullptr;
    verdict.why = "takes deferred work";
    verdict.why +=
        verdict.gpu_memory ? ", memory of GPUs too (FI_HMEM)" : ", no memory of GPUs (FI_HMEM)";
    if (is_loopback(*info)) verdict.why += "; for jobs on this host alone";
  }
}

}  // namespace

std::vector<ProviderVerdict> list_providers(const base::Settings& settings) {
  std::vector<ProviderVerdict> verdicts = everything();
  look_for_capabilities(verdicts);
  try_out(verdicts, settings);
  return verdicts;
}

}  // namespace penstock::ofi
