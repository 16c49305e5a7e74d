// SPDX-License-Identifier: Apache-2.0
// A member's plan of the direct exchange: a start stores to all, a wait takes from all.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "peer/holding.hpp"
#include "peer/rally_port.hpp"
#include "plan/host_plan.hpp"

namespace penstock::peer {

class RallyPlan final : public plan::HostPlan {
 public:
  // `members`: world ranks. `holding` has our block.
  RallyPlan(RallyPort port, std::vector<int> members, Holding holding, Retired& retired);
  ~RallyPlan() override;

  transport::PairState pair_state(protocol::Epoch epoch) const noexcept override;
  std::string path() const override { return "peer (direct exchange in shared memory)"; }
  std::string describe() const override;
  const char* advice() const noexcept override {
    return "see that all members start the collective equally often";
  }

 private:
  // Of the next start, or the present wait.
  protocol::Epoch next() const noexcept { return state_.done + 1; }
  std::optional<base::Error> run_start(bool& later) override;
  bool run_wait() noexcept override;
  std::optional<base::Error> hopeless() override;
  void run_close() noexcept override;
  void run_poison() noexcept override { run_close(); }
  // Who has closed before the epoch; somebody has.
  unsigned closed_member(protocol::Epoch epoch) const noexcept;
  base::Error why_closed() const;

  RallyPort port_;
  protocol::rally::State state_;
  std::atomic<protocol::Epoch> epoch_{0};  // begun; for what is told of a wait on another thread
  bool closed_ = false;
  const std::vector<int> members_;
  Holding holding_;
  std::function<bool()> over_;  // whether nobody stores into our block any more
  Retired& retired_;
};

}  // namespace penstock::peer
