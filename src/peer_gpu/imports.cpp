// SPDX-License-Identifier: Apache-2.0
#include "peer_gpu/imports.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "device/gpu/runtime.hpp"

namespace penstock::peer_gpu {

namespace {

// Mappings that nobody uses are kept for the next match of the same buffers, up to so many.
constexpr std::ptrdiff_t most_unused = 16;

}  // namespace

Imports::~Imports() {
  for (const auto& [key, mapped] : mapped_) {
    const device::gpu::DeviceGuard guard(key.device);
    cudaIpcCloseMemHandle(mapped.base.get());
  }
}

std::shared_ptr<std::byte> Imports::open(int rank, int device, const DevicePlace& place) {
  const std::lock_guard lock(mutex_);
  const Key key{rank, device, place.number};
  auto found = mapped_.find(key);
  if (found == mapped_.end()) {
    // An allocation that was freed there, and whose handle has come again, must go first.
    close_unused_where([&](const Key& each, const Mapped& mapped) {
      return each.rank == rank &&
             std::memcmp(&mapped.allocation, &place.allocation, sizeof place.allocation) == 0;
    });
    found = mapped_.emplace(key, Mapped{map(key, place.allocation), place.allocation}).first;
  }
  const std::shared_ptr<std::byte> base = found->second.base;
  const auto unused = std::count_if(mapped_.begin(), mapped_.end(), [](const auto& each) {
    return each.second.base.use_count() == 1;
  });
  if (unused > most_unused) close_unused_where([](const Key&, const Mapped&) { return true; });
  return {base, base.get() + place.offset};
}

void Imports::close_unused() noexcept {
  const std::lock_guard lock(mutex_);
  close_unused_where([](const Key&, const Mapped&) { return true; });
}

std::shared_ptr<std::byte> Imports::map(const Key& key, const cudaIpcMemHandle_t& allocation) {
  const device::gpu::DeviceGuard guard(key.device);
  void* address = nullptr;
  const device::gpu::RelaxedCaptures relaxed;
  const cudaError_t code =
      cudaIpcOpenMemHandle(&address, allocation, cudaIpcMemLazyEnablePeerAccess);
  if (!device::gpu::succeeded(code))
    throw base::Error(
        base::ErrorKind::transport,
        std::string("memory of the peer's GPU cannot be mapped here: ") + cudaGetErrorString(code));
  // Closed by close_unused(), not by the last owner, which may be on a thread that must not wait
  // for the device.
  return {static_cast<std::byte*>(address), [](std::byte*) {}};
}

// Called with the lock held.
template <class Condition>
void Imports::close_unused_where(Condition condition) noexcept {
  std::erase_if(mapped_, [&](const auto& each) {
    const auto& [key, mapped] = each;
    if (mapped.base.use_count() > 1 || !condition(key, mapped)) return false;
    const device::gpu::DeviceGuard guard(key.device);
    const device::gpu::RelaxedCaptures relaxed;
    cudaIpcCloseMemHandle(mapped.base.get());
    return true;
  });
}

}  // namespace penstock::peer_gpu
