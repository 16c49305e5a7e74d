// SPDX-License-Identifier: Apache-2.0
// A collective as a member's stream carries it out: messages of matched pairs in phases, and
// between them what the member copies and combines in its own memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "coll/local_steps.hpp"
#include "coll/schedule.hpp"
#include "transport/plan.hpp"

namespace penstock::coll {

class ScheduledPlan final : public transport::Plan {
 public:
  // `steps`: null where there are none. `ends`: of the receives of all phases in their order, then
  // of the sends; where it throws, they are the caller's still.
  ScheduledPlan(std::string algorithm, std::shared_ptr<const Schedule> schedule,
                std::unique_ptr<LocalSteps> steps,
                std::vector<std::unique_ptr<transport::Plan>>&& ends);

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

  // The messages of a phase.
  struct Messages {
    std::vector<transport::Plan*> receives;  // that start with it
    std::vector<transport::Plan*> sends;
    std::vector<transport::Plan*> waited;  // receives that end with it

    bool empty() const noexcept { return sends.empty() && waited.empty(); }
  };

  void begin(std::size_t phase, device::Stream& stream, transport::Sink& sink);

  const std::string algorithm_;
  const std::shared_ptr<const Schedule> schedule_;
  const std::unique_ptr<LocalSteps> steps_;
  std::vector<std::unique_ptr<transport::Plan>> ends_;
  std::vector<Messages> phases_;
  std::size_t first_wait_ = 0;  // the first phase with messages
  Closing closing_;
};

}  // namespace penstock::coll
