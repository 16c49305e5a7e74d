// SPDX-License-Identifier: Apache-2.0
// The two ends of a ring. Templates over the kind of send and the size of a line, so that the state machine is inlined
// into the two functions that the worker calls.
#pragma once

#include <utility>

#include "protocol/ring.hpp"
#include "transport/peer/pair_plan.hpp"

namespace penstock::transport::peer {

using protocol::Mode;
using protocol::Progress;
using protocol::StartOutcome;
using protocol::Word;

std::string missing_from_receiver(const SenderBlock& block, Mode mode, Epoch epoch, unsigned slots);

template <Mode mode, std::size_t line_bytes>
class RingSend final : public PairPlan {
 public:
  explicit RingSend(Pair pair) : RingSend(pair.port, std::move(pair)) {}

 private:
  RingSend(const PortSetup& port, Pair&& pair)
      : PairPlan(std::move(pair), port.receiver->closed, port.sender->closed), port_(port) {}

  std::optional<base::Error> run_start() noexcept override {
    const Epoch epoch = state_.done + 1;
    begin(epoch);
    if (peer_closed(epoch)) return peer_freed(epoch);
    switch (protocol::ring::start_send<mode>(port_, state_)) {
      case StartOutcome::started:
        break;
      case StartOutcome::no_buffer:
        return base::Error(base::ErrorKind::buffer, "the receiver has taken none of the buffered messages");
      case StartOutcome::receiver_not_started:
        return base::Error(base::ErrorKind::ready, "ready send started before its receive");
    }
    return std::nullopt;
  }

  // A message that the receiver has closed before taking is lost, whatever the ring's own words say.
  bool run_wait() noexcept override {
    return !peer_closed(state_.done + 1) && protocol::ring::wait_send<mode>(port_, state_) == Progress::ended;
  }

  std::optional<base::Error> hopeless() noexcept override { return why_hopeless(state_.done + 1); }
  Epoch done() const noexcept override { return state_.done; }
  std::string missing(Epoch epoch) const override {
    return missing_from_receiver(port_.sender_block(), mode, epoch, port_.slots());
  }

  HostPort<line_bytes> port_;
  protocol::SendState state_;
};

template <Mode mode, std::size_t line_bytes>
class RingReceive final : public PairPlan {
 public:
  explicit RingReceive(Pair pair) : RingReceive(pair.port, std::move(pair)) {}

 private:
  RingReceive(const PortSetup& port, Pair&& pair)
      : PairPlan(std::move(pair), port.sender->closed, port.receiver->closed), port_(port) {}

  std::optional<base::Error> run_start() noexcept override {
    begin(state_.done + 1);
    protocol::ring::start_receive<mode>(port_, state_);
    return std::nullopt;
  }
  bool run_wait() noexcept override { return protocol::ring::wait_receive(port_, state_) == Progress::ended; }

  std::optional<base::Error> hopeless() noexcept override { return why_hopeless(state_.done + 1); }
  Epoch done() const noexcept override { return state_.done; }
  std::string missing(Epoch) const override { return "the message"; }

  HostPort<line_bytes> port_;
  protocol::ReceiveState state_;
};

}  // namespace penstock::transport::peer
