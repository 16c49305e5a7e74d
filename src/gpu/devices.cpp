// SPDX-License-Identifier: Apache-2.0
#include "gpu/devices.hpp"

#include "device/gpu/runtime.hpp"
#include "gpu/words.hpp"

namespace penstock::gpu {

using device::gpu::check;
using device::gpu::DeviceGuard;

namespace {

// Where lines of 128 bytes have been seen to arrive whole (tests/cuda checks every byte): H200,
// inside one GPU and over NVLink, which native atomics stand for. PCIe splits them.
bool is_hopper([[maybe_unused]] int device) {
#if PENSTOCK_HIP
  return false;
#else
  int major = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
        "cudaDeviceGetAttribute");
  return major == 9;
#endif
}

}  // namespace

std::shared_ptr<DeviceArena> Devices::arena(int device) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<DeviceArena>& arena = arenas_[device];
  if (!arena) arena = std::make_shared<DeviceArena>(device);
  return arena;
}

std::shared_ptr<std::byte> Devices::crowd(int device) {
  const std::shared_ptr<DeviceArena> memory = arena(device);
  const std::lock_guard lock(mutex_);
  std::shared_ptr<std::byte>& crowd = crowds_[device];
  if (!crowd) crowd = memory->allocate(sizeof(Word64));
  return crowd;
}

DeviceIdentity Devices::identity(int device) const {
  DeviceIdentity identity{};
  check(vendor::identify(device, identity), "the device's identity");
  return identity;
}

int Devices::device_with(const DeviceIdentity& wanted) const {
  int count = 0;
  check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  for (int each = 0; each < count; ++each)
    if (identity(each) == wanted) return each;
  return -1;
}

unsigned Devices::processors(int device) const {
  int processors = 0;
  check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device),
        "cudaDeviceGetAttribute");
  return static_cast<unsigned>(processors);
}

Devices::DeviceReach Devices::reach(int device, const DeviceIdentity& other) const {
  int count = 0;
  check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  for (int each = 0; each < count; ++each) {
    if (identity(each) != other) continue;
    const bool hopper = is_hopper(device) && is_hopper(each);
    if (each == device) return {true, true, hopper};
    int possible = 0;
    int native = 0;
    check(cudaDeviceCanAccessPeer(&possible, device, each), "cudaDeviceCanAccessPeer");
    check(cudaDeviceGetP2PAttribute(&native, cudaDevP2PAttrNativeAtomicSupported, device, each),
          "cudaDeviceGetP2PAttribute");
    return {possible != 0, native != 0, hopper && native != 0};
  }
  return {true, false, false};
}

void Devices::list_whole_lines(int device, std::span<DeviceIdentity> list) const {
  int count = 0;
  check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  std::size_t listed = 0;
  for (int each = 0; each < count && listed < list.size(); ++each)
    if (const DeviceIdentity other = identity(each); reach(device, other).whole_lines)
      list[listed++] = other;
}

bool Devices::sees_whole_lines(int device) const {
  int count = 0;
  check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  for (int each = 0; each < count; ++each)
    if (!reach(device, identity(each)).whole_lines) return false;
  return count > 1;
}

bool Devices::runs_beside_others([[maybe_unused]] int device) const noexcept {
#if !PENSTOCK_HIP  // which has no such attribute
  int service = 0;
  if (device::gpu::succeeded(cudaDeviceGetAttribute(&service, cudaDevAttrMpsEnabled, device)))
    return service != 0;
#endif
  return true;
}

void Devices::connect(int device, int other) {
  if (device == other) return;
  const device::gpu::RelaxedCaptures relaxed;
  for (const auto& [from, to] : {std::pair(device, other), std::pair(other, device)}) {
    const DeviceGuard guard(from);
    const cudaError_t code = cudaDeviceEnablePeerAccess(to, 0);
    if (code == cudaErrorPeerAccessAlreadyEnabled)
      (void)cudaGetLastError();
    else
      check(code, "cudaDeviceEnablePeerAccess");
  }
}

void Devices::finish() noexcept {
  const std::lock_guard lock(mutex_);
  for (const auto& [device, arena] : arenas_) {
    const DeviceGuard guard(device);
    cudaDeviceSynchronize();
  }
}

}  // namespace penstock::gpu
