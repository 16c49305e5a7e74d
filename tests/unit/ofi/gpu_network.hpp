// SPDX-License-Identifier: Apache-2.0
// This machine's provider of libfabric, as if it took memory of GPUs. What stands for that memory
// cannot be touched where the library knows it; the provider is given the place where it really
// lies.
#pragma once

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "ofi/provider.hpp"
#include "unit/ofi/layer.hpp"

namespace penstock::ofi {

class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes) : bytes_(bytes > 0 ? bytes : 1) {
    const int file = memfd_create("device", 0);
    if (file < 0 || ftruncate(file, static_cast<off_t>(bytes_)) != 0)
      throw std::runtime_error("no memory file");
    device_ = map(file, PROT_NONE);
    here_ = map(file, PROT_READ | PROT_WRITE);
    ::close(file);
  }
  ~DeviceMemory() {
    munmap(device_, bytes_);
    munmap(here_, bytes_);
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  void* device() const { return device_; }       // who reads or writes there dies
  std::byte* contents() const { return here_; }  // as kernels of its device see it
  // Null: not inside.
  std::byte* contents_of(const void* place) const {
    const auto offset =
        reinterpret_cast<std::uintptr_t>(place) - reinterpret_cast<std::uintptr_t>(device_);
    return offset < bytes_ ? here_ + offset : nullptr;
  }

 private:
  std::byte* map(int file, int protection) const {
    void* const place = mmap(nullptr, bytes_, protection, MAP_SHARED, file, 0);
    if (place == MAP_FAILED) throw std::runtime_error("no memory");
    return static_cast<std::byte*>(place);
  }

  const std::size_t bytes_;
  std::byte* device_ = nullptr;
  std::byte* here_ = nullptr;
};

struct GpuRegion {
  fi_hmem_iface interface = FI_HMEM_SYSTEM;
  int device = -1;
  const void* address = nullptr;
  std::size_t bytes = 0;
};

class GpuNetwork final : public Layer {
 public:
  GpuNetwork();
  ~GpuNetwork() override;

  // What the provider does from now on.
  // So many processes may ask for such memory: the later ones are told that there is none.
  int processes_served = INT_MAX;
  int regions_taken = INT_MAX;  // then it refuses with
  int refusal = 0;
  int answer_to_promise = 0;  // of FI_OPT_CUDA_API_PERMITTED = false
  int endpoint_refusal = 0;   // of one with such memory

  void know(const DeviceMemory& memory) { memories_.push_back(&memory); }
  void forget_memory() { memories_.clear(); }

  // What it has seen.
  int asked() const { return asked_; }
  int promises() const { return promises_; }
  std::vector<GpuRegion> registered();  // all, in their order
  int open() const { return open_; }
  std::uint64_t writes_from_gpu() const { return writes_from_gpu_; }
  // Operations that read such memory without the descriptor of a region around it.
  int undeclared() const { return undeclared_; }

  int list(Ask ask, std::uint32_t version, const fi_info* hints, fi_info** list) override;
  void stand_before(fid_fabric& fabric) override;

 private:
  static GpuNetwork& self();
  static int open_domain(fid_fabric* fabric, fi_info* info, fid_domain** domain, void* context);
  static int open_endpoint(fid_domain* domain, fi_info* info, fid_ep** endpoint, void* context);
  static int set_option(fid* endpoint, int level, int option, const void* value, std::size_t bytes);
  static int register_region(fid* domain, const fi_mr_attr* attributes, std::uint64_t flags,
                             fid_mr** region);
  static int close_region(fid* region);
  static int control(fid* domain, int command, void* argument);
  static ssize_t write(fid_ep* endpoint, const fi_msg_rma* message, std::uint64_t flags);

  fi_info* plain(const fi_info& info);
  std::byte* contents_of(const void* place) const;
  void translate(iovec& place, void* const* descriptor);

  struct Known {
    GpuRegion region;
    void* descriptor = nullptr;
    bool open = true;
  };

  fi_ops_fabric fabric_ops_{}, *own_fabric_ops_ = nullptr;
  fi_ops_domain domain_ops_{}, *own_domain_ops_ = nullptr;
  fi_ops_mr region_makers_{}, *own_region_makers_ = nullptr;
  fi_ops domain_control_{}, *own_domain_control_ = nullptr;
  fi_ops region_ops_{}, *own_region_ops_ = nullptr;
  fi_ops_ep endpoint_ops_{}, *own_endpoint_ops_ = nullptr;
  fi_ops_rma writes_{}, *own_writes_ = nullptr;
  std::vector<FabricInfo> given_;  // to the provider, which may keep the address
  std::vector<const DeviceMemory*> memories_;
  std::mutex mutex_;
  std::vector<Known> regions_;
  std::map<fid*, std::size_t> places_;
  std::atomic<int> asked_{0}, promises_{0}, open_{0}, undeclared_{0};
  std::atomic<std::uint64_t> writes_from_gpu_{0};
};

}  // namespace penstock::ofi
