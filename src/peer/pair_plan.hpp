// SPDX-License-Identifier: Apache-2.0
// What the plans of both ends and both paths have in common: the end of a pair, and the words that
// tell about it.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

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

// One end of a pair: its port, its private words, and how it closes.
template <Side side, class Port>
class EndPlan : public PairPlan {
 public:
  bool peer_closed(protocol::Epoch epoch) const noexcept final {
    return protocol::closing::peer_closed<side>(port_, epoch);
  }

 protected:
  explicit EndPlan(Pair pair) : EndPlan(pair.port, std::move(pair)) {}

  protocol::Epoch next() const noexcept {
    return state_.done + 1;
  }  // the epoch of the next start, or of the present wait
  std::optional<base::Error> hopeless() override { return why_hopeless(next()); }
  // Nothing may be stored into the peer's block afterwards: it may be reused once both have closed.
  void run_close() noexcept final {
    if (!std::exchange(closed_, true)) protocol::closing::close<side>(port_, next());
  }
  void run_poison() noexcept final {
    if (!std::exchange(closed_, true)) close_out_of_order();
  }
  virtual void close_out_of_order() noexcept { protocol::closing::close<side>(port_, next()); }

  using State =
      std::conditional_t<side == Side::sender, protocol::SendState, protocol::ReceiveState>;
  Port port_;
  State state_;

 private:
  EndPlan(const PortSetup& port, Pair&& pair)
      : PairPlan(std::move(pair),
                 side == Side::sender ? port.sender->closed : port.receiver->closed),
        port_(port) {}

  bool closed_ = false;
};

}  // namespace penstock::peer
