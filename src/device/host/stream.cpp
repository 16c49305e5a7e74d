// SPDX-License-Identifier: Apache-2.0
#include "device/host/stream.hpp"

#include "device/host/worker.hpp"

namespace penstock::device::host {
namespace {

bool run_function(Command& command) noexcept {
  const auto function = reinterpret_cast<void (*)(void*)>(command.object);
  function(command.context);
  return true;
}

// Streams that share a marker may pass it in any order; it only grows.
bool reach(Command& command) noexcept {
  auto& reached = static_cast<Marker*>(command.object)->reached;
  auto seen = reached.load(std::memory_order_relaxed);
  while (seen < command.value &&
         !reached.compare_exchange_weak(seen, command.value, std::memory_order_release, std::memory_order_relaxed)) {
  }
  return true;
}

bool has_reached(Command& command) noexcept {
  return static_cast<Marker*>(command.object)->reached.load(std::memory_order_acquire) >= command.value;
}

}  // namespace

Stream::Stream(std::chrono::microseconds spin, int most)
    : device::Stream(StreamKind::host), worker_(std::make_unique<Worker>(spin, most)) {}

Stream::~Stream() = default;

void Stream::push(const Command& command) {
  worker_->push(command);
}

void Stream::launch(void (*function)(void*), void* argument) {
  push({&run_function, reinterpret_cast<void*>(function), argument, 0});
}

void Stream::record(Marker& marker, std::uint64_t number) {
  push({&reach, &marker, nullptr, number});
}

void Stream::await(Marker& marker, std::uint64_t number) {
  push({&has_reached, &marker, nullptr, number});
}

void Stream::synchronize(const std::function<void()>& meanwhile) {
  worker_->synchronize(meanwhile);
}

bool Stream::idle() const {
  return worker_->idle();
}

bool Stream::on_worker() const noexcept {
  return worker_->is_calling_thread();
}

}  // namespace penstock::device::host
