// SPDX-License-Identifier: Apache-2.0
#include "transport/ofi/provider.hpp"

#include <arpa/inet.h>
#include <rdma/fi_errno.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "base/error.hpp"

namespace penstock::transport::ofi {

using base::Error;
using base::ErrorKind;

namespace {

// Read by providers when they are loaded, which is at the first call of libfabric: see docs/semantics.md.
void prepare_environment() {
  setenv("FI_SOCKETS_PE_WAITTIME", "0", 0);
  setenv("HFI_NO_BACKTRACE", "1", 0);
  setenv("IPATH_NO_BACKTRACE", "1", 0);
}

bool loopback(const fi_info& info) {
  if (info.addr_format != FI_SOCKADDR_IN || info.src_addr == nullptr) return false;
  const auto* address = static_cast<const sockaddr_in*>(info.src_addr);
  return (ntohl(address->sin_addr.s_addr) >> 24) == 127;
}

}  // namespace

FabricInfo make_hints() {
  FabricInfo hints(fi_allocinfo());
  if (!hints) throw Error(ErrorKind::resources, "ofi: out of memory");
  hints->caps = FI_MSG | FI_RMA | FI_ATOMIC | FI_TRIGGER | FI_RMA_EVENT;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->addr_format = FI_SOCKADDR_IN;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->threading = FI_THREAD_SAFE;
  // Whoever looks makes progress: a thread of the provider would add two hand-overs to every message.
  hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->av_type = FI_AV_TABLE;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
  return hints;
}

FabricInfo choose_provider(const base::Settings&) {
  prepare_environment();
  const FabricInfo hints = make_hints();
  fi_info* list = nullptr;
  const int code = fi_getinfo(FI_VERSION(1, 15), nullptr, nullptr, 0, hints.get(), &list);
  if (code != 0)
    throw Error(ErrorKind::transport,
                std::string("no provider of libfabric can defer work: fi_getinfo says ") + fi_strerror(-code));
  const FabricInfo owner(list);
  const fi_info* best = list;
  for (const fi_info* one = list; one != nullptr; one = one->next) {
    if (loopback(*one)) continue;
    best = one;
    break;
  }
  return FabricInfo(fi_dupinfo(best));
}

}  // namespace penstock::transport::ofi
