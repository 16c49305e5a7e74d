// SPDX-License-Identifier: Apache-2.0
// What a library says of GPUs that is built without them.
#include "device/gpu.hpp"

namespace penstock::device {

base::Verdict gpu_status(Vendor) {
  return base::refused("not built into this library");
}

std::vector<Gpu> list_gpus() {
  return {};
}

bool gpus_in_use() noexcept {
  return false;
}

std::string current_gpu() {
  return {};
}

std::shared_ptr<Stream> open_gpu_stream(Vendor vendor, const void*) {
  throw not_built_in(vendor);
}

std::optional<std::uint64_t> gpu_stream_number(void*) {
  return std::nullopt;
}

MemoryKind memory_kind(const void*) noexcept {
  return MemoryKind::host;
}

int gpu_of(const void*) noexcept {
  return -1;
}

GpuAllocation gpu_allocation(const void*) noexcept {
  return {};
}

base::Verdict network_reaches(const void*, bool) {
  return base::accepted();
}

void enter_gpu(int) noexcept {}

}  // namespace penstock::device
