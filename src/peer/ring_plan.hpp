// SPDX-License-Identifier: Apache-2.0
// The two ends of a ring. Templates over the kind of send and the size of a line, so that the state
// machine is inlined into the two functions that the worker calls.
#pragma once

#include <utility>

#include "peer/pair_plan.hpp"
#include "protocol/ring.hpp"

namespace penstock::peer {

std::string missing_from_receiver(const SenderBlock& block, protocol::Mode mode,
                                  protocol::Epoch epoch, unsigned slots);

template <protocol::Mode mode, std::size_t line_bytes>
class RingSend final : public EndPlan<Side::sender, HostPort<line_bytes>> {
 public:
  explicit RingSend(Pair pair) : EndPlan<Side::sender, HostPort<line_bytes>>(std::move(pair)) {}

 private:
  std::optional<base::Error> run_start() override {
    this->begin(this->next());
    return this->why_not_started(protocol::ring::start_send<mode>(this->port_, this->state_),
                                 this->next());
  }
  bool run_wait() noexcept override {
    return protocol::ring::wait_send<mode>(this->port_, this->state_) == Progress::ended;
  }
  std::string missing(protocol::Epoch epoch) const override {
    return missing_from_receiver(this->port_.sender_block(), mode, epoch, this->port_.slots());
  }
};

template <protocol::Mode mode, std::size_t line_bytes>
class RingReceive final : public EndPlan<Side::receiver, HostPort<line_bytes>> {
 public:
  explicit RingReceive(Pair pair)
      : EndPlan<Side::receiver, HostPort<line_bytes>>(std::move(pair)) {}

 private:
  std::optional<base::Error> run_start() override {
    this->begin(this->next());
    protocol::ring::start_receive<mode>(this->port_, this->state_);
    return std::nullopt;
  }
  bool run_wait() noexcept override {
    return protocol::ring::wait_receive(this->port_, this->state_) == Progress::ended;
  }
  std::string missing(protocol::Epoch) const override { return "the message"; }
};

}  // namespace penstock::peer
