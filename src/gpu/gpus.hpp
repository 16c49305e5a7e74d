// SPDX-License-Identifier: Apache-2.0
// What the GPU forms of all transports share in this process: memory, kernel queues, the watchdog
// over them.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "base/settings.hpp"
#include "device/gpu/runtime.hpp"
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
  // Returns that of the stream's queue, which is made on first use. Throws Error.
  KernelQueue& kernel_queue_on(device::gpu::Stream& stream);
  // Gives the stream's queue what the step needs: its kernels, by load(launch) once a device, and
  // where an enqueue call gathers work for them: a Batch(queue, more...). Throws Error.
  using Load = cudaError_t (*)(const Launch&);
  template <class Batch, class... More>
  void equip(device::gpu::Stream& stream, LaunchStep step, Load load, More... more);
  void equip_packing(device::gpu::Stream& stream);  // for messages with gaps
  // How the kernels of this process that wait share a device with those of others, for queues that
  // are made later: set by who can ask the others.
  using ShareDevice = std::function<std::shared_ptr<WaitPlaces>(int device)>;
  void share_devices(ShareDevice share) { share_device_ = std::move(share); }
  // Memory that somebody may still read or write: it is not used again.
  void keep(std::shared_ptr<std::byte> memory);
  void finish() noexcept { devices_.finish(); }  // what is enqueued on the devices ends

 private:
  void load_once(int device, Load load);

  const bool dependent_launch_;
  std::shared_ptr<PinnedPool> pinned_ = std::make_shared<PinnedPool>();
  Devices devices_;
  ShareDevice share_device_;
  std::mutex mutex_;
  std::unique_ptr<KernelWatchdog> watchdog_;
  std::vector<std::shared_ptr<std::byte>> kept_;
  std::mutex loading_;
  std::set<std::pair<int, Load>> loaded_;  // on which devices
};

template <class Batch, class... More>
void Gpus::equip(device::gpu::Stream& stream, LaunchStep step, Load load, More... more) {
  KernelQueue& queue = kernel_queue_on(stream);
  if (queue.batch(step) != nullptr) return;
  load_once(stream.device(), load);
  queue.add(step, std::make_unique<Batch>(queue, more...));
}

}  // namespace penstock::gpu
