// SPDX-License-Identifier: Apache-2.0
#include "ofi/fabric.hpp"

#include <fmt/format.h>
#include <rdma/fi_errno.h>

#include <utility>

#include "ofi/gpu_memory.hpp"

namespace penstock::ofi {

using base::Error;
using base::ErrorKind;

namespace {

constexpr std::size_t completions_kept = 4096;
constexpr std::size_t addresses_expected = 64;

// `sockets` says FI_ENOENT of a peer that it cannot connect to.
bool unreachable(ssize_t code) noexcept {
  return code == -FI_ENOENT || code == -FI_ENETUNREACH || code == -FI_EHOSTUNREACH ||
         code == -FI_ECONNREFUSED || code == -FI_ETIMEDOUT;
}

}  // namespace

Fabric::Fabric(FabricInfo info) : info_(std::move(info)), provider_(info_->fabric_attr->prov_name) {
  fid_fabric* fabric = nullptr;
  check("fi_fabric", libfabric().fabric(info_->fabric_attr, &fabric, nullptr));
  fabric_.reset(fabric);

  fid_domain* domain = nullptr;
  check("fi_domain", fi_domain(fabric, info_.get(), &domain, nullptr));
  domain_.reset(domain);

  fi_av_attr table{};
  table.type = FI_AV_TABLE;
  table.count = addresses_expected;
  fid_av* addresses = nullptr;
  check("fi_av_open", fi_av_open(domain, &table, &addresses, nullptr));
  addresses_.reset(addresses);

  fi_cq_attr queue{};
  queue.size = completions_kept;
  queue.format = FI_CQ_FORMAT_CONTEXT;
  queue.wait_obj = FI_WAIT_NONE;
  fid_cq* completions = nullptr;
  check("fi_cq_open", fi_cq_open(domain, &queue, &completions, nullptr));
  completions_.reset(completions);

  fid_ep* endpoint = nullptr;
  check("fi_endpoint", fi_endpoint(domain, info_.get(), &endpoint, nullptr));
  endpoint_.reset(endpoint);
  check("fi_ep_bind", fi_ep_bind(endpoint, &addresses->fid, 0));
  // Only what asks for it is reported, and what fails.
  check("fi_ep_bind",
        fi_ep_bind(endpoint, &completions->fid, FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION));
  if (takes_gpu_memory(*info_)) moves_without_gpu_runtime_ = forbid_gpu_calls(*endpoint);
  check("fi_enable", fi_enable(endpoint));
}

std::vector<std::byte> Fabric::name() const {
  std::size_t bytes = 0;
  fi_getname(&endpoint_->fid, nullptr, &bytes);  // says how long it is
  std::vector<std::byte> name(bytes);
  check("fi_getname", fi_getname(&endpoint_->fid, name.data(), &bytes));
  name.resize(bytes);
  return name;
}

fi_addr_t Fabric::insert(std::span<const std::byte> name) {
  fi_addr_t address = FI_ADDR_UNSPEC;
  const int inserted = fi_av_insert(addresses_.get(), name.data(), 1, &address, 0, nullptr);
  if (inserted < 0) throw error("fi_av_insert", inserted);
  if (inserted != 1 || address == FI_ADDR_NOTAVAIL)
    throw Error(ErrorKind::transport,
                fmt::format("ofi: {} takes no address of the peer", provider_));
  return address;
}

Counter Fabric::counter() const {
  fi_cntr_attr attributes{};
  attributes.events = FI_CNTR_EVENTS_COMP;
  attributes.wait_obj = FI_WAIT_NONE;
  fid_cntr* counter = nullptr;
  check("fi_cntr_open", fi_cntr_open(domain_.get(), &attributes, &counter, nullptr));
  return Counter(counter);
}

// Found by trying. Some hold 31 bits, and fire at once when a threshold is beyond; others 47 or
// more.
std::uint64_t Fabric::counter_limit() const {
  constexpr std::uint64_t wide = std::uint64_t{1} << 46;
  const Counter tried = counter();
  const bool set = fi_cntr_set(tried.get(), wide) == 0;
  return set && fi_cntr_read(tried.get()) == wide ? wide : std::uint64_t{1} << 30;
}

Error Fabric::error(const char* call, ssize_t code) const {
  const bool scarce =
      code == -FI_ENOMEM || code == -FI_ENOSPC || code == -FI_EMFILE || code == -FI_EAGAIN;
  return Error(
      scarce ? ErrorKind::resources : ErrorKind::transport,
      fmt::format("ofi: {} of the provider {} failed: {}{}", call, provider_,
                  libfabric().strerror(static_cast<int>(-code)),
                  unreachable(code)
                      ? "; the peer's address cannot be reached from here: see its route, and "
                        "PENSTOCK_OFI_INTERFACE for another network"
                      : ""));
}

Region::Region(Fabric& fabric, void* memory, std::size_t bytes, fid_cntr* arrivals,
               std::optional<int> gpu) {
  const iovec place{memory, bytes};
  fi_mr_attr attributes{};
  attributes.mr_iov = &place;
  attributes.iov_count = 1;
  attributes.access = FI_WRITE | FI_REMOTE_WRITE | FI_READ | FI_REMOTE_READ;
  attributes.requested_key = fabric.next_key();
  const std::uint64_t flags = arrivals != nullptr && fabric.has(FI_MR_ENDPOINT) ? FI_RMA_EVENT : 0;
  fid_mr* region = nullptr;
  if (gpu) {
    attributes.iface = gpu_interface;
    // ROCr knows it by the address.
    if (gpu_interface == FI_HMEM_CUDA) attributes.device.cuda = *gpu;
    fabric.check("fi_mr_regattr", fi_mr_regattr(fabric.domain(), &attributes, flags, &region));
  } else {
    fabric.check("fi_mr_reg", fi_mr_reg(fabric.domain(), memory, bytes, attributes.access, 0,
                                        attributes.requested_key, flags, &region, nullptr));
  }
  region_.reset(region);
  if (!fabric.has(FI_MR_VIRT_ADDR)) origin_ = reinterpret_cast<std::uintptr_t>(memory);
  // The counter first: some providers take none once the region is enabled.
  if (arrivals != nullptr)
    fabric.check("fi_mr_bind", fi_mr_bind(region, &arrivals->fid, FI_REMOTE_WRITE));
  if (!fabric.has(FI_MR_ENDPOINT)) return;
  fabric.check("fi_mr_bind", fi_mr_bind(region, &fabric.endpoint()->fid, 0));
  fabric.check("fi_mr_enable", fi_mr_enable(region));
}

}  // namespace penstock::ofi
