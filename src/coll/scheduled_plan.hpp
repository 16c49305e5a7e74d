// SPDX-License-Identifier: Apache-2.0
// A collective as a member's stream carries it out: messages of matched pairs in phases, and
// between them what the member copies and combines in its own memory. No thread of the host takes
// part but the stream's own.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "coll/local_work.hpp"
#include "coll/schedule.hpp"
#include "device/host/command.hpp"
#include "transport/plan.hpp"

namespace penstock::coll {

class ScheduledPlan final : public transport::Plan {
 public:
  // Work of the stream for one phase: of the plans those of `ends`.
  struct Step {
    const ScheduledPlan* plan = nullptr;
    const Phase* phase = nullptr;
    std::vector<transport::Plan*> receives;  // that start with it
    std::vector<transport::Plan*> sends;
    std::vector<transport::Plan*> waited;  // receives that end with it

    bool has_messages() const noexcept { return !sends.empty() || !waited.empty(); }
  };
  // `temporary` is the memory of that name. `ends`: of the receives of all phases in their order,
  // then of the sends.
  ScheduledPlan(std::string algorithm, Schedule schedule, std::unique_ptr<std::byte[]> temporary,
                const Memory& memory, const Combination& combination,
                std::vector<std::unique_ptr<transport::Plan>> ends);

  void check_stream(const device::Stream& stream) const override;
  // Goes on until something must be waited for.
  void start(device::Stream& stream, transport::Sink& sink) override;
  void wait(device::Stream& stream, transport::Sink& sink) override;
  void hand_over(device::Stream* last, device::Stream& next) override;
  void wait_flushed(device::Stream& stream) noexcept override;
  void launch_gathered(device::Stream& stream) noexcept override;
  void close(device::Stream& stream, void (*ended)(void*), void* argument) override;
  void close() override;
  // The worst of its pairs': the collective is one with all of them.
  transport::PairState pair_state(transport::Epoch epoch) const noexcept override;
  std::string path() const override;
  std::string describe() const override { return algorithm_; }
  void cancel_wait(const base::Error& error) noexcept override;

 private:
  struct Closing {
    std::atomic<std::size_t> left{0};
    void (*ended)(void*) = nullptr;
    void* argument = nullptr;
    static void one_ended(void* closing);
  };

  static bool work_command(device::host::Command& command) noexcept;
  static void begin(const Step& step, device::Stream& stream, transport::Sink& sink);

  const std::string algorithm_;
  const Schedule schedule_;
  const std::unique_ptr<std::byte[]> temporary_;
  const Memory memory_;
  const Combination combination_;
  const std::vector<std::unique_ptr<transport::Plan>> ends_;
  std::vector<Step> steps_;
  std::size_t first_wait_ = 0;  // the first step with messages
  std::uint64_t waits_enqueued_ = 0;
  std::atomic<std::uint64_t> waits_ended_{0};
  Closing closing_;
};

}  // namespace penstock::coll
