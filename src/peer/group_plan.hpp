// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "peer/holding.hpp"
#include "plan/host_plan.hpp"
#include "plan/peer_closed.hpp"

namespace penstock::peer {

// A member's plan of what a group does without messages. Exchange says what that is: its port and
// state; path and name; start and wait; whom it misses, who has closed, when a wait is hopeless;
// how it closes, and when all have (rally_exchange.hpp, delivery_exchange.hpp). A port that copies
// says whether that failed. A template, so that the protocol is inlined into what the worker calls.
template <class Exchange>
class GroupPlan final : public plan::HostPlan {
 public:
  using Port = typename Exchange::Port;

  // `members`: world ranks. `holding` has our block.
  GroupPlan(Port port, std::vector<int> members, Holding holding, Retired& retired)
      : port_(std::move(port)),
        members_(std::move(members)),
        holding_(std::move(holding)),
        over_([mine = Exchange::words_of(port_)]() mutable { return Exchange::all_closed(mine); }),
        retired_(retired) {}
  // A plan that has not closed has not been agreed on: nobody stores.
  ~GroupPlan() override {
    if (closed_) retired_.add(std::move(holding_), std::move(over_));
  }

  // Of a dead member the wait tells.
  transport::PairState pair_state(protocol::Epoch epoch) const noexcept override {
    const auto member = closed_member(epoch);
    return state_by(member && !port_.is_dead(*member));
  }
  std::string path() const override { return "peer (" + Exchange::path(port_) + ")"; }
  // "epoch 17, direct exchange, waits for rank 1, 3"
  std::string describe() const override {
    const protocol::Epoch epoch = epoch_.load(std::memory_order_relaxed);
    std::string missing;
    for (unsigned member = 0; member < port_.members(); ++member)
      if (Exchange::misses(port_, member, epoch))
        missing += (missing.empty() ? "" : ", ") + std::to_string(members_[member]);
    return "epoch " + std::to_string(epoch) + ", " + Exchange::name + ", waits for rank " + missing;
  }
  const char* advice() const noexcept override {
    return "see that all members start the collective equally often";
  }

 private:
  // Of the next start, or the present wait.
  protocol::Epoch next() const noexcept { return state_.done + 1; }

  std::optional<base::Error> run_start(bool& /*later*/) override {
    epoch_.store(next(), std::memory_order_relaxed);
    if (Exchange::start(port_, state_) == protocol::StartOutcome::started) [[likely]]
      return std::nullopt;
    return why_closed();
  }
  bool run_wait() noexcept override {
    return Exchange::wait(port_, state_) == protocol::Progress::ended;
  }
  std::optional<base::Error> hopeless() override {
    if constexpr (requires { port_.copy_error(); })
      if (port_.copy_failed()) return port_.copy_error();
    if (!Exchange::is_hopeless(port_, next())) return std::nullopt;
    return why_closed();
  }
  void run_close() noexcept override {
    if (!std::exchange(closed_, true)) Exchange::close(port_, state_);
  }
  void run_poison() noexcept override { run_close(); }

  // CLOSED is never taken back, and nobody comes to life: who has been found before is found again.
  // Who has died may have made others close, and who is missed is the reason more than others are.
  std::optional<unsigned> closed_member(protocol::Epoch epoch) const noexcept {
    std::optional<unsigned> found;
    for (unsigned member = 0; member < port_.members(); ++member) {
      if (!Exchange::has_closed(port_, member, epoch)) continue;
      if (port_.is_dead(member)) return member;
      if (!found ||
          (!Exchange::misses(port_, *found, epoch) && Exchange::misses(port_, member, epoch)))
        found = member;
    }
    return found;
  }
  base::Error why_closed() const {
    const unsigned member = closed_member(next()).value();
    const int rank = members_[member];
    if (port_.is_dead(member)) return plan::dead_error(rank, next());
    return plan::member_closed_error(rank, next());
  }

  Port port_;
  typename Exchange::State state_;
  std::atomic<protocol::Epoch> epoch_{0};  // begun; for what is told of a wait on another thread
  bool closed_ = false;
  const std::vector<int> members_;
  Holding holding_;
  std::function<bool()> over_;  // whether nobody stores into our block any more
  Retired& retired_;
};

}  // namespace penstock::peer
