// SPDX-License-Identifier: Apache-2.0
#include "device/gpu.hpp"

#include "base/error.hpp"

#if PENSTOCK_CUDA || PENSTOCK_HIP
#include "device/gpu/memory.hpp"
#include "device/gpu/open.hpp"
#endif

namespace penstock::device {

namespace {

using base::Error;
using base::ErrorKind;

Error not_built_in(Vendor vendor) {
  const std::string name = vendor == Vendor::hip ? "HIP" : "CUDA";
  return {ErrorKind::unsupported, "PST_QUEUE_" + name +
                                      " is not built into this library: build one with cmake "
                                      "-DPENSTOCK_" +
                                      name + "=ON, or use PST_QUEUE_HOST"};
}

}  // namespace

#if PENSTOCK_CUDA || PENSTOCK_HIP

GpuStatus gpu_status(Vendor vendor) {
  if (vendor != built_for) return {false, "not built into this library"};
  const base::Verdict here = gpu::usable();
  return here.yes ? GpuStatus{true, gpu::describe_devices()} : GpuStatus{false, here.why};
}

std::vector<Gpu> list_gpus() {
  return gpu::usable().yes ? gpu::list_gpus() : std::vector<Gpu>{};
}

std::string current_gpu() {
  return gpu::current_gpu();
}

std::shared_ptr<Stream> open_gpu_stream(Vendor vendor, const void* handle) {
  if (vendor != built_for) throw not_built_in(vendor);
  if (const base::Verdict here = gpu::usable(); !here.yes)
    throw Error(ErrorKind::unsupported, "PST_QUEUE_" PENSTOCK_GPU " cannot be used here: " +
                                            here.why + "; use PST_QUEUE_HOST");
  return gpu::open_stream(handle);
}

MemoryKind memory_kind(const void* address) noexcept {
  return gpu::look_at(address).on_device ? MemoryKind::cuda : MemoryKind::host;
}

int gpu_of(const void* address) noexcept {
  return gpu::look_at(address).device;
}

base::Verdict network_reaches(const void* address, bool written) {
  return gpu::network_reaches(address, written);
}

void enter_gpu(int device) noexcept {
  gpu::enter(device);
}

#else

GpuStatus gpu_status(Vendor) {
  return {false, "not built into this library"};
}

std::vector<Gpu> list_gpus() {
  return {};
}

std::string current_gpu() {
  return {};
}

std::shared_ptr<Stream> open_gpu_stream(Vendor vendor, const void*) {
  throw not_built_in(vendor);
}

MemoryKind memory_kind(const void*) noexcept {
  return MemoryKind::host;
}

int gpu_of(const void*) noexcept {
  return -1;
}

base::Verdict network_reaches(const void*, bool) {
  return base::accepted();
}

void enter_gpu(int) noexcept {}

#endif

}  // namespace penstock::device
