// SPDX-License-Identifier: Apache-2.0
// Local steps of a collective in memory of a GPU: kernels on the program's stream, one for as many
// steps as do not need each other's results.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "coll/local_steps.hpp"
#include "core/library.hpp"
#include "core/transports.hpp"
#include "device/gpu/runtime.hpp"
#include "device/gpu/stream.hpp"
#include "gpu/gpus.hpp"
#include "gpu/kernel_plan.hpp"
#include "gpu/step_kernels.hpp"
#include "gpu/wait_end.hpp"

namespace penstock::coll {

using device::gpu::DeviceGuard;
using gpu::StepWork;

namespace {

device::gpu::Stream& gpu_stream(device::Stream& stream) noexcept {
  return static_cast<device::gpu::Stream&>(stream);
}

// Whether `second` may run before or beside `first`.
bool independent(const LocalStep& first, const LocalStep& second) {
  return !touches(second, region_written(first)) && !touches(first, region_written(second));
}

class KernelSteps final : public LocalSteps {
 public:
  KernelSteps(const Schedule& schedule, const Memory& memory, const Combination& combination,
              int gpu)
      : gpus_(core::Library::require().transports().gpus()),
        arena_(gpus_->devices().arena(gpu)),
        memory_(memory),
        combination_(combination) {
    if (schedule.temporary != 0) temporary_ = arena_->allocate(schedule.temporary);
    memory_.temporary = temporary_.get();
    for (const Phase& phase : schedule.phases) add_launches(phase.steps);
  }

  const Memory& memory() const noexcept override { return memory_; }

  void check_stream(const std::string& label, const device::Stream& stream) const override {
    gpu::require_device(label, stream, arena_->device());
  }

  void enqueue(std::size_t phase, device::Stream& stream, transport::Sink& sink) override {
    auto& queue = static_cast<gpu::KernelQueue&>(*gpu_stream(stream).attachment());
    queue.report_to(sink);
    stream.flush();  // what has been gathered comes first
    const DeviceGuard guard(arena_->device());
    for (const Works& works : phases_[phase])
      if (const cudaError_t code =
              gpu::launch_local_steps(queue.launch_on(gpu_stream(stream).handle()), works);
          code != cudaSuccess)
        return queue.fail_launch(code);
  }

  void end_wait(device::Stream& stream) override {
    ends_.on(gpu_stream(stream)).enqueued(gpu_stream(stream));
  }

  void wait_flushed(device::Stream& stream) noexcept override {
    ends_.on(gpu_stream(stream)).record(gpu_stream(stream));
  }

  void hand_over(device::Stream* last, device::Stream& next) override {
    if (last == nullptr) return;
    last->flush();
    next.flush();
    ends_.on(gpu_stream(next)).order(gpu_stream(*last), gpu_stream(next));
  }

  // A stream that takes no function is waited for.
  void close(device::Stream& stream, void (*ended)(void*), void* argument) override {
    auto& on_device = gpu_stream(stream);
    ends_.drop();
    const DeviceGuard guard(on_device.device());
    if (!on_device.is_captured() &&
        device::gpu::succeeded(cudaLaunchHostFunc(on_device.handle(), ended, argument)))
      return;
    on_device.wait_until_dry();
    ended(argument);
  }

 private:
  using Works = std::vector<StepWork>;  // of one launch

  void add_launches(const std::vector<LocalStep>& steps) {
    std::vector<Works>& launches = phases_.emplace_back();
    std::vector<const LocalStep*> beside;  // those of the last launch
    for (const LocalStep& step : steps) {
      const bool joins = !launches.empty() && beside.size() < gpu::largest_step_batch &&
                         std::all_of(beside.begin(), beside.end(), [&](const LocalStep* other) {
                           return independent(*other, step);
                         });
      if (!joins) {
        launches.emplace_back();
        beside.clear();
      }
      launches.back().push_back(work_of(step));
      beside.push_back(&step);
    }
  }

  StepWork work_of(const LocalStep& step) {
    if (const auto* const copy = std::get_if<Copy>(&step))
      return gpu::move_work(memory_.at(copy->from), memory_.at(copy->to), copy->from.bytes);
    if (const auto* const permute = std::get_if<Permute>(&step))
      return gpu::move_work(memory_.at(permute->from), memory_.at(permute->to), permute->from.bytes,
                            static_cast<std::uint32_t>(permute->rows),
                            static_cast<std::uint32_t>(permute->columns));
    const auto& reduce = std::get<Reduce>(step);
    std::vector<const std::byte*> values;
    for (const Region& region : reduce.from) values.push_back(memory_.at(region));
    return gpu::combine_work(values, list_of(values), memory_.at(reduce.to), reduce.to.bytes,
                             combination_);
  }

  // On the device, where a launch has no room for them.
  const std::byte* const* list_of(const std::vector<const std::byte*>& values) {
    if (values.size() <= StepWork::most_inside) return nullptr;
    const std::size_t bytes = values.size() * sizeof values.front();
    lists_.push_back(arena_->allocate(bytes));
    arena_->write(lists_.back().get(), values.data(), bytes);
    return reinterpret_cast<const std::byte* const*>(lists_.back().get());
  }

  const std::shared_ptr<gpu::Gpus> gpus_;
  const std::shared_ptr<gpu::DeviceArena> arena_;
  Memory memory_;
  const Combination combination_;
  std::shared_ptr<std::byte> temporary_;
  std::vector<std::shared_ptr<std::byte>> lists_;
  std::vector<std::vector<Works>> phases_;
  gpu::WaitEnds ends_;
};

}  // namespace

std::unique_ptr<LocalSteps> make_kernel_steps(const Schedule& schedule, const Memory& memory,
                                              const Combination& combination, int gpu) {
  return std::make_unique<KernelSteps>(schedule, memory, combination, gpu);
}

}  // namespace penstock::coll
