// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "peer/pair_end.hpp"
#include "plan/host_plan.hpp"
#include "protocol/closing.hpp"

namespace penstock::peer {

using protocol::Mode;
using protocol::Progress;
using protocol::Side;

// The plan of one end of a pair: that end, its port and its private words. End says what it does:
// its side, port and state, start, wait, what it waits for, how it closes out of order, and, where
// that takes time, when its buffer is untouched then (ring_ends.hpp, rendezvous_ends.hpp,
// window_ends.hpp). A template, so that the state machine is inlined into the two functions that
// the worker calls.
template <class End>
class EndPlan final : public plan::HostPlan {
 public:
  using Port = typename End::Port;

  explicit EndPlan(Pair pair) : EndPlan(Port(pair.port), pair.port, std::move(pair)) {}
  EndPlan(const Port& port, Pair pair) : EndPlan(port, pair.port, std::move(pair)) {}

  transport::PairState pair_state(protocol::Epoch epoch) const noexcept override {
    return state_by(peer_closed(epoch));
  }

  std::string path() const override { return "peer (" + end_.path() + ")"; }
  // "epoch 17, ring, waits for the receive's start (CTS 4)"
  std::string describe() const override {
    const protocol::Epoch epoch = end_.epoch();
    return "epoch " + std::to_string(epoch) + ", " + end_.path() + ", waits for " +
           End::missing(port_, epoch);
  }
  const char* advice() const noexcept override {
    if constexpr (requires { End::advice; })
      return End::advice;
    else
      return HostPlan::advice();
  }

 private:
  EndPlan(const Port& port, const PortSetup& setup, Pair&& pair)
      : end_(std::move(pair),
             End::side == Side::sender ? setup.sender->closed : setup.receiver->closed),
        port_(port) {}

  // The epoch of the next start, or of the present wait.
  protocol::Epoch next() const noexcept { return state_.done + 1; }

  std::optional<base::Error> run_start(bool& /*later*/) override {
    end_.begin(next());
    const StartOutcome outcome = End::start(port_, state_);
    if constexpr (requires { port_.goes_on(); })
      if (port_.goes_on()) go_on_with_epoch();
    if (auto error = copy_error()) return error;
    if (outcome == StartOutcome::started) [[likely]]
      return std::nullopt;
    return end_.why_not_started(outcome, next());
  }
  bool run_wait() noexcept override { return End::wait(port_, state_) == Progress::ended; }
  bool peer_closed(protocol::Epoch epoch) const noexcept {
    return protocol::closing::peer_closed<End::side>(port_, epoch);
  }
  std::optional<base::Error> hopeless() override {
    if (auto error = End::broken(state_)) return error;
    if (auto error = copy_error()) return error;
    return end_.why_hopeless(next(), peer_closed(next()));
  }
  // Returns the error of a copy that this end made itself.
  std::optional<base::Error> copy_error() const {
    if constexpr (End::copies)
      if (const int error = port_.copy_error(); error != 0) return end_.copy_failed(error);
    return std::nullopt;
  }
  // Nothing may be stored into the peer's block afterwards: it may be reused once both have closed.
  void run_close() noexcept override {
    if (!std::exchange(closed_, true)) protocol::closing::close<End::side>(port_, next());
  }
  void run_poison() noexcept override {
    if (!std::exchange(closed_, true)) End::close_out_of_order(port_, state_);
  }
  bool run_untouched() noexcept override {
    if constexpr (requires { End::untouched(port_, state_); })
      return End::untouched(port_, state_) || end_.lasting_copy().is_left_to_peer(label());
    else
      return true;
  }
  PairEnd end_;
  Port port_;
  typename End::State state_;
  bool closed_ = false;
};

}  // namespace penstock::peer
