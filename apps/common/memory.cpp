// SPDX-License-Identifier: Apache-2.0
#include "common/memory.hpp"

#include <cstdlib>
#include <cstring>
#include <new>
#include <penstock/penstock.hpp>

#include "common/gpu/gpu.hpp"

namespace penstock::apps {
namespace {

Memory allocate_messages(std::size_t bytes) {
  const auto buffer = std::make_shared<Buffer<std::byte>>(bytes);
  return {buffer->data(), bytes, [buffer](std::byte*) {}};
}

// Fresh pages of the system's are zero.
Memory allocate_data(std::size_t bytes) {
  void* const memory = std::calloc(bytes > 0 ? bytes : 1, 1);
  if (memory == nullptr) throw std::bad_alloc();
  return {static_cast<std::byte*>(memory), bytes, [](std::byte* data) { std::free(data); }};
}

}  // namespace

Memory allocate(DeviceKind device, Use use, std::size_t bytes) {
  if (device == DeviceKind::gpu) return gpu::allocate(bytes);
  return use == Use::messages ? allocate_messages(bytes) : allocate_data(bytes);
}

Memory allocate_pinned(std::size_t bytes) {
  return gpu::allocate_pinned(bytes);
}

void fetch(DeviceKind device, void* to, const void* from, std::size_t bytes) {
  if (device == DeviceKind::gpu)
    gpu::fetch(to, from, bytes);
  else
    std::memcpy(to, from, bytes);
}

void store(DeviceKind device, Lane& lane, void* to, const void* from, std::size_t bytes) {
  if (device == DeviceKind::host) {
    std::memcpy(to, from, bytes);
  } else {
    gpu::enqueue_copy(lane.gpu_stream(), to, from, bytes);
    lane.synchronize();
  }
}

}  // namespace penstock::apps
