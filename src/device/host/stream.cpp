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

bool trace_function(Command& command) noexcept {
  using base::trace::Clock;
  const auto begin = Clock::now();
  run_function(command);
  reinterpret_cast<base::trace::Track*>(command.value)
      ->record({base::trace::TraceKind::function,
                {},
                reinterpret_cast<std::uint64_t>(command.object),
                begin,
                Clock::now()});
  return true;
}

// Acquire: what was done before the word was raised is seen by what stands behind this.
bool has_reached(Command& command) noexcept {
  const auto& word = *static_cast<const std::atomic<std::uint64_t>*>(command.object);
  return word.load(std::memory_order_acquire) >= command.value;
}

}  // namespace

Stream::Stream(std::chrono::microseconds spin, int most, base::trace::Track* functions)
    : device::Stream(StreamKind::host),
      functions_(functions),
      worker_(std::make_unique<Worker>(spin, most)) {}

Stream::~Stream() = default;

void Stream::push(const Command& command) {
  worker_->push(command);
}

void Stream::launch(void (*function)(void*), void* argument) {
  push({functions_ ? &trace_function : &run_function, reinterpret_cast<void*>(function), argument,
        reinterpret_cast<std::uint64_t>(functions_)});
}

void Stream::await(const std::atomic<std::uint64_t>& word, std::uint64_t number) {
  push({&has_reached, const_cast<std::atomic<std::uint64_t>*>(&word), nullptr, number});
}

void Stream::make_room(std::size_t pieces) {
  worker_->make_room(pieces);
}

void Stream::synchronize(const std::function<bool()>& meanwhile) {
  worker_->synchronize(meanwhile);
}

bool Stream::idle() const {
  return worker_->idle();
}

bool Stream::on_a_worker() noexcept {
  return Worker::runs_here();
}

}  // namespace penstock::device::host
