// SPDX-License-Identifier: Apache-2.0
#include "coll/local_steps.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "core/message_memory.hpp"
#include "device/gpu.hpp"
#include "device/host/stream.hpp"

namespace penstock::coll {

using device::host::Command;

namespace {

device::host::Stream& host_stream(device::Stream& stream) noexcept {
  return static_cast<device::host::Stream&>(stream);
}

// Release: the stream that waits for the word sees what this one has done.
bool end_command(Command& command) noexcept {
  auto& ended = *static_cast<std::atomic<std::uint64_t>*>(command.object);
  ended.store(command.value, std::memory_order_release);
  return true;
}

bool close_command(Command& command) noexcept {
  reinterpret_cast<void (*)(void*)>(static_cast<std::uintptr_t>(command.value))(command.object);
  return true;
}

class HostSteps final : public LocalSteps {
 public:
  HostSteps(std::shared_ptr<const Schedule> schedule, const Memory& memory,
            const Combination& combination)
      : schedule_(std::move(schedule)),
        temporary_(core::allocate_message_memory(schedule_->temporary)),
        memory_(memory),
        combination_(combination) {
    memory_.temporary = temporary_.get();
    for (const Phase& phase : schedule_->phases) phases_.push_back({this, &phase.steps});
  }

  const Memory& memory() const noexcept override { return memory_; }

  void check_stream(const std::string& label, const device::Stream& stream) const override {
    if (stream.kind() != device::StreamKind::host)
      throw base::Error(base::ErrorKind::unsupported,
                        label +
                            ": its buffers are in memory of the host, which collectives serve "
                            "on queues of type PST_QUEUE_HOST");
  }

  void enqueue(std::size_t phase, device::Stream& stream, transport::Sink& sink) override {
    host_stream(stream).push({&work_command, &phases_[phase], &sink, 0});
  }

  void end_wait(device::Stream& stream) override {
    host_stream(stream).push({&end_command, &waits_ended_, nullptr, ++waits_enqueued_});
  }

  void wait_flushed(device::Stream&) noexcept override {}

  // The last work of a wait may be these steps, which no pair knows of.
  void hand_over(device::Stream*, device::Stream& next) override {
    if (waits_ended_.load(std::memory_order_acquire) != waits_enqueued_)
      host_stream(next).await(waits_ended_, waits_enqueued_);
  }

  void close(device::Stream& stream, void (*ended)(void*), void* argument) override {
    host_stream(stream).push(
        {&close_command, argument, nullptr, reinterpret_cast<std::uintptr_t>(ended)});
  }

 private:
  struct PhaseSteps {
    const HostSteps* owner;
    const std::vector<LocalStep>* steps;
  };

  static bool work_command(Command& command) noexcept {
    if (static_cast<transport::Sink*>(command.context)->failed()) return true;
    const auto& [owner, steps] = *static_cast<const PhaseSteps*>(command.object);
    for (const LocalStep& step : *steps) carry_out(step, owner->memory_, owner->combination_);
    return true;
  }

  const std::shared_ptr<const Schedule> schedule_;
  const std::shared_ptr<std::byte> temporary_;
  Memory memory_;
  const Combination combination_;
  std::vector<PhaseSteps> phases_;
  std::uint64_t waits_enqueued_ = 0;
  std::atomic<std::uint64_t> waits_ended_{0};
};

}  // namespace

std::unique_ptr<LocalSteps> make_local_steps(std::shared_ptr<const Schedule> schedule,
                                             const Memory& memory, const Combination& combination,
                                             int gpu) {
  const bool has_memory = memory.input != nullptr || memory.output != nullptr;
  if (!has_memory && schedule->temporary == 0) return nullptr;
  if (gpu >= 0) return make_kernel_steps(*schedule, memory, combination, gpu);
  return std::make_unique<HostSteps>(std::move(schedule), memory, combination);
}

}  // namespace penstock::coll
