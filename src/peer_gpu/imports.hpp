// SPDX-License-Identifier: Apache-2.0
// Allocations of other processes, mapped here: each once for each device of ours that uses it.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "gpu/device_arena.hpp"

namespace penstock::peer_gpu {

using gpu::DevicePlace;

class Imports {
 public:
  ~Imports();

  // The place in memory of process `rank`, as kernels on our device address it. Throws
  // Error(transport). The mapping stays at least as long as the returned owner.
  std::shared_ptr<std::byte> open(int rank, int device, const DevicePlace& place);
  // What has no owner is closed now. May wait for the device.
  void close_unused() noexcept;

 private:
  struct Key {
    int rank;
    int device;
    std::uint64_t number;
    auto operator<=>(const Key&) const = default;
  };
  struct Mapped {
    std::shared_ptr<std::byte> base;
    cudaIpcMemHandle_t allocation;
  };
  std::shared_ptr<std::byte> map(const Key& key, const cudaIpcMemHandle_t& allocation);
  template <class Condition>
  void close_unused_where(Condition condition) noexcept;

  std::mutex mutex_;
  std::map<Key, Mapped> mapped_;
};

}  // namespace penstock::peer_gpu
