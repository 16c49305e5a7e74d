// SPDX-License-Identifier: Apache-2.0
// What the CUDA forms of all transports share in this process: memory, kernel queues, the watchdog
// over them.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/settings.hpp"
#include "device/gpu/stream.hpp"
#include "gpu/devices.hpp"
#include "gpu/kernel_queue.hpp"
#include "gpu/kernel_watchdog.hpp"
#include "gpu/pinned.hpp"

namespace penstock::gpu {

class Gpus {
 public:
  explicit Gpus(bool dependent_launch) : dependent_launch_(dependent_launch) {}

  Devices& devices() noexcept { return devices_; }
  PinnedPool& pinned() noexcept { return *pinned_; }
  KernelWatchdog& watchdog();  // made on first use. Throws Error
  // Of a queue; made on first use. Throws Error.
  KernelQueue& kernel_queue_on(device::gpu::Stream& stream);
  // How the kernels of this process that wait share a device with those of others, for queues that
  // are made later: set by who can ask the others.
  using ShareDevice = std::function<std::shared_ptr<WaitPlaces>(int device)>;
  void share_devices(ShareDevice share) { share_device_ = std::move(share); }
  // Memory that somebody may still read or write: it is not used again.
  void keep(std::shared_ptr<std::byte> memory);
  void finish() noexcept { devices_.finish(); }  // what is enqueued on the devices ends

 private:
  const bool dependent_launch_;
  std::shared_ptr<PinnedPool> pinned_ = std::make_shared<PinnedPool>();
  Devices devices_;
  ShareDevice share_device_;
  std::mutex mutex_;
  std::unique_ptr<KernelWatchdog> watchdog_;
  std::vector<std::shared_ptr<std::byte>> kept_;
};

}  // namespace penstock::gpu
