// SPDX-License-Identifier: Apache-2.0
#include "gpu/gpus.hpp"

#include "device/gpu/runtime.hpp"
#include "gpu/make_gpus.hpp"
#include "gpu/pack_kernels.hpp"
#include "gpu/step_kernels.hpp"

namespace penstock::gpu {

KernelWatchdog& Gpus::watchdog() {
  const std::lock_guard lock(mutex_);
  if (!watchdog_) watchdog_ = std::make_unique<KernelWatchdog>();
  return *watchdog_;
}

KernelQueue& Gpus::kernel_queue_on(device::gpu::Stream& stream) {
  if (stream.attachment() == nullptr) {
    const device::gpu::DeviceGuard guard(stream.device());
    KernelQueue::Memory memory{pinned_->take(),
                               devices_.arena(stream.device())->allocate(sizeof(QueueFailure)),
                               devices_.crowd(stream.device())};
    auto queue =
        std::make_unique<KernelQueue>(stream, std::move(memory), dependent_launch_, watchdog());
    if (share_device_) queue->share_device(share_device_(stream.device()));
    // No stream knows which requests it will be given.
    load_once(stream.device(), load_local_steps);
    stream.attach(std::move(queue));
  }
  return static_cast<KernelQueue&>(*stream.attachment());
}

// Their first launch may need the device idle, and later it may not be.
void Gpus::load_once(int device, Load load) {
  const std::lock_guard lock(loading_);
  if (loaded_.contains({device, load})) return;
  const device::gpu::DeviceGuard guard(device);
  const device::gpu::RelaxedCaptures relaxed;
  Launch launch;
  launch.stream = devices_.arena(device)->stream();
  launch.dependent = dependent_launch_;
  device::gpu::check(load(launch), "loading the kernels");
  loaded_.insert({device, load});
}

void Gpus::equip_packing(device::gpu::Stream& stream) {
  equip<PackBatch>(stream, LaunchStep::pack, load_packing);
  equip<PackBatch>(stream, LaunchStep::unpack, load_unpacking);
}

void Gpus::keep(std::shared_ptr<std::byte> memory) {
  const std::lock_guard lock(mutex_);
  kept_.push_back(std::move(memory));
}

std::shared_ptr<Gpus> make_gpus(const base::Settings& settings) {
  return std::make_shared<Gpus>(settings.cuda_dependent_launch);
}

}  // namespace penstock::gpu
