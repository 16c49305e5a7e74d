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

// Acquire: what was done before the word was raised is seen by what stands behind this.
bool has_reached(Command& command) noexcept {
  const auto& word = *static_cast<const std::atomic<std::uint64_t>*>(command.object);
  return word.load(std::memory_order_acquire) >= command.value;
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

void Stream::await(const std::atomic<std::uint64_t>& word, std::uint64_t number) {
  push({&has_reached, const_cast<std::atomic<std::uint64_t>*>(&word), nullptr, number});
}

void Stream::make_room(std::size_t pieces) {
  worker_->make_room(pieces);
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
