// SPDX-License-Identifier: Apache-2.0
// What the plans of both ends and both paths have in common: the end of a pair, and the words that
// tell about it.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "peer/holding.hpp"
#include "peer/host_port.hpp"
#include "plan/host_plan.hpp"
#include "protocol/closing.hpp"
#include "protocol/state.hpp"

namespace penstock::peer {

using protocol::Mode;
using protocol::Progress;
using protocol::Side;
using protocol::StartOutcome;

// Everything fixed at match.
struct Pair {
  int peer = -1;  // world rank
  const std::atomic<bool>* peer_dead = nullptr;
  PortSetup port;
  Holding holding;
  Retired* retired = nullptr;
  std::string path;  // for the pair's log line
};

class PairPlan : public plan::HostPlan {
 public:
  PairPlan(Pair pair, const std::uint64_t& closed_by_peer);  // which lies in our block
  ~PairPlan() override;

  std::string path() const final { return "peer (" + path_ + ")"; }
  std::string describe() const final;

 protected:
  virtual std::string missing(protocol::Epoch epoch) const = 0;  // "the receive's start (CTS 4)"

  // The epoch that a start begins, kept for describe(), which runs on another thread.
  void begin(protocol::Epoch epoch) noexcept {
    shown_epoch_.store(epoch, std::memory_order_relaxed);
  }
  std::optional<base::Error> why_hopeless(protocol::Epoch epoch) const;
  std::optional<base::Error> why_not_started(StartOutcome outcome, protocol::Epoch epoch) const;
  base::Error copy_failed(int error) const;

 private:
  base::Error peer_freed(protocol::Epoch epoch) const;

  const std::uint64_t& closed_by_peer_;
  int peer_;
  const std::atomic<bool>& peer_dead_;
  std::atomic<protocol::Epoch> shown_epoch_{0};
  Holding holding_;
  Retired& retired_;
  std::string path_;
};

// The plan of one end of a pair: its port and its private words. End says what it does: its side
// and port, start, wait, what it waits for, and how it closes out of order (ring_ends.hpp,
// rendezvous_ends.hpp). A template, so that the state machine is inlined into the two functions
// that the worker calls.
template <class End>
class EndPlan final : public PairPlan {
 public:
  explicit EndPlan(Pair pair) : EndPlan(pair.port, std::move(pair)) {}

  bool peer_closed(protocol::Epoch epoch) const noexcept override {
    return protocol::closing::peer_closed<End::side>(port_, epoch);
  }

 private:
  using Port = typename End::Port;
  using State =
      std::conditional_t<End::side == Side::sender, protocol::SendState, protocol::ReceiveState>;

  EndPlan(const PortSetup& port, Pair&& pair)
      : PairPlan(std::move(pair),
                 End::side == Side::sender ? port.sender->closed : port.receiver->closed),
        port_(port) {}

  // The epoch of the next start, or of the present wait.
  protocol::Epoch next() const noexcept { return state_.done + 1; }

  std::optional<base::Error> run_start() override {
    begin(next());
    const StartOutcome outcome = End::start(port_, state_);
    if (auto error = copy_error()) return error;
    if (outcome == StartOutcome::started) [[likely]]
      return std::nullopt;
    return why_not_started(outcome, next());
  }
  bool run_wait() noexcept override { return End::wait(port_, state_) == Progress::ended; }
  std::optional<base::Error> hopeless() override {
    if (auto error = End::broken(state_)) return error;
    if (auto error = copy_error()) return error;
    return why_hopeless(next());
  }
  // Of the copies that this end makes itself.
  std::optional<base::Error> copy_error() const {
    if constexpr (End::copies)
      if (const int error = port_.copy_error(); error != 0) return copy_failed(error);
    return std::nullopt;
  }
  // Nothing may be stored into the peer's block afterwards: it may be reused once both have closed.
  void run_close() noexcept override {
    if (!std::exchange(closed_, true)) protocol::closing::close<End::side>(port_, next());
  }
  void run_poison() noexcept override {
    if (!std::exchange(closed_, true)) End::close_out_of_order(port_, next());
  }
  std::string missing(protocol::Epoch epoch) const override { return End::missing(port_, epoch); }

  Port port_;
  State state_;
  bool closed_ = false;
};

}  // namespace penstock::peer
