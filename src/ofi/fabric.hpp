// SPDX-License-Identifier: Apache-2.0
// The objects of libfabric that a process has once: fabric, domain, address table, completion
// queue, endpoint; and how counters and regions are made of them. One thread at a time is in here
// and in all that it hands out.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/no_copy.hpp"
#include "base/verdict.hpp"
#include "ofi/fid.hpp"
#include "ofi/provider.hpp"
#include "ofi/remote_address.hpp"

namespace penstock::ofi {

using Counter = Fid<fid_cntr>;

class Fabric : private base::NoCopy {
 public:
  explicit Fabric(FabricInfo info);  // throws base::Error

  const std::string& provider() const noexcept { return provider_; }
  const fi_info& info() const noexcept { return *info_; }
  std::vector<std::byte> name() const;                // of the endpoint, for other processes
  fi_addr_t insert(std::span<const std::byte> name);  // throws base::Error
  Counter counter() const;                            // throws base::Error
  // How far they are let count. Half of what they hold, since they go back only when nothing waits
  // for them; throws base::Error.
  std::uint64_t counter_limit() const;
  fid_domain* domain() const noexcept { return domain_.get(); }
  fid_ep* endpoint() const noexcept { return endpoint_.get(); }
  fid_cq* completions() const noexcept { return completions_.get(); }
  // Whether memory of GPUs is moved without the risk of waiting for its streams.
  const base::Verdict& moves_without_gpu_runtime() const noexcept {
    return moves_without_gpu_runtime_;
  }
  bool has(int mr_mode_bit) const noexcept {
    return (info_->domain_attr->mr_mode & mr_mode_bit) != 0;
  }
  std::size_t largest_write() const noexcept { return info_->ep_attr->max_msg_size; }
  std::uint64_t next_key() noexcept { return next_key_++; }
  // Before regions and counters are closed.
  void close_endpoint() noexcept { endpoint_.reset(); }

  // What fi_strerror says of a negative code.
  base::Error error(const char* call, ssize_t code) const;
  void check(const char* call, ssize_t code) const {
    if (code < 0) throw error(call, code);
  }

 private:
  // In the order in which they are made; the endpoint is closed before all that is bound to it.
  FabricInfo info_;
  std::string provider_;
  base::Verdict moves_without_gpu_runtime_ = base::accepted();
  Fid<fid_fabric> fabric_;
  Fid<fid_domain> domain_;
  Fid<fid_av> addresses_;
  Fid<fid_cq> completions_;
  Fid<fid_ep> endpoint_;
  std::uint64_t next_key_ = 1;
};

// Memory that the provider may write into or read from.
class Region {
 public:
  Region() = default;
  // Takes memory of the host, or of a GPU by its number. Remote writes into it count on `arrivals`,
  // if there is one. Throws base::Error.
  Region(Fabric& fabric, void* memory, std::size_t bytes, fid_cntr* arrivals = nullptr,
         std::optional<int> gpu = {});

  std::uint64_t key() const noexcept { return fi_mr_key(region_.get()); }
  void* descriptor() const noexcept { return region_ ? fi_mr_desc(region_.get()) : nullptr; }
  // Returns the address by which remote processes name this place.
  std::uint64_t address(const void* place) const noexcept {
    return reinterpret_cast<std::uintptr_t>(place) - origin_;
  }
  RemoteAddress at(const void* place) const noexcept { return {address(place), key()}; }
  void close() noexcept { region_.reset(); }
  explicit operator bool() const noexcept { return region_ != nullptr; }

 private:
  Fid<fid_mr> region_;
  std::uint64_t origin_ = 0;
};

}  // namespace penstock::ofi
