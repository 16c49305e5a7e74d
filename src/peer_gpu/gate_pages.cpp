// SPDX-License-Identifier: Apache-2.0
#include "peer_gpu/gate_pages.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <new>

#include "base/log.hpp"
#include "device/gpu.hpp"
#include "device/gpu/runtime.hpp"
#include "device/gpu/word_operations.hpp"

namespace penstock::peer_gpu {

using peer::page_bytes;

GatePages::~GatePages() {
  for (void* page : shown_) cudaHostUnregister(page);
}

std::shared_ptr<Gate> GatePages::take() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) {
    std::byte* const page = arena_.allocate(page_bytes(), page_bytes());
    for (std::size_t i = 0; i < page_bytes() / sizeof(Gate); ++i)
      free_.push_back(reinterpret_cast<Gate*>(page + i * sizeof(Gate)));
  }
  Gate* const gate = new (free_.back()) Gate{};
  free_.pop_back();
  return {gate, [self = shared_from_this()](Gate* at) {
            const std::lock_guard give_back(self->mutex_);
            self->free_.push_back(at);
          }};
}

void GatePages::show_to_devices(const Gate& gate) {
  void* const page = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(&gate) /
                                             page_bytes() * page_bytes());
  const std::lock_guard lock(mutex_);
  const auto [shown, is_new] = shown_.insert(page);  // first, since it may find no memory
  if (!is_new) return;
  const device::gpu::RelaxedCaptures relaxed;
  bool registered = false;
  try {
    device::gpu::check(
        cudaHostRegister(page, page_bytes(), cudaHostRegisterPortable | cudaHostRegisterMapped),
        "cudaHostRegister");
    registered = true;
    void* on_device = nullptr;
    device::gpu::check(cudaHostGetDevicePointer(&on_device, page, 0), "cudaHostGetDevicePointer");
    if (on_device != page)
      throw base::Error(base::ErrorKind::unsupported, PENSTOCK_GPU
                        " addresses shared memory of the host otherwise than the host does");
  } catch (...) {
    shown_.erase(shown);
    if (registered) cudaHostUnregister(page);
    throw;
  }
}

bool GatePages::work_on(int device, cudaStream_t stream) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = work_on_.find(device); known != work_on_.end()) return known->second;
  }
  bool works = true;
  try {
    pass(*take(), stream);
  } catch (const base::Error& error) {
    // For want of memory nothing is settled: pairs with gates and pairs without would not be
    // counted alike.
    if (error.kind() != base::ErrorKind::unsupported) throw;
    base::log::info(fmt::format("waits are by kernels: {}", error.text()));
    works = false;
  }
  const std::lock_guard lock(mutex_);
  return work_on_[device] = works;
}

void GatePages::pass(Gate& gate, cudaStream_t stream) {
  const device::gpu::RelaxedCaptures relaxed;
  device::gpu::WordOperations operations;
  operations.store(gate.words.open, 1);
  operations.await(gate.words.open, 1);
  show_to_devices(gate);
  device::gpu::check(operations.enqueue(stream), "a stream's wait for a value");
  device::gpu::check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

}  // namespace penstock::peer_gpu
