// SPDX-License-Identifier: Apache-2.0
// The two ends of a rendezvous between buffers that each side can reach.
#pragma once

#include <utility>

#include "peer/pair_plan.hpp"
#include "protocol/rendezvous.hpp"

namespace penstock::peer {

std::string missing_receive(const SenderBlock& block);
std::string missing_send(const ReceiverBlock& block);

template <Side side, protocol::Mode mode>
class RendezvousPlan : public EndPlan<side, HostPort<cache_line>> {
 protected:
  using EndPlan<side, HostPort<cache_line>>::EndPlan;

  std::optional<base::Error> hopeless() override {
    if (const int error = this->port_.copy_error(); error != 0) return this->copy_failed(error);
    return this->why_hopeless(this->next());
  }
  void close_out_of_order() noexcept final {
    protocol::rendezvous::poison<mode, side>(this->port_, this->next());
  }
};

template <protocol::Mode mode>
class RendezvousSend final : public RendezvousPlan<Side::sender, mode> {
 public:
  explicit RendezvousSend(Pair pair) : RendezvousPlan<Side::sender, mode>(std::move(pair)) {}

 private:
  std::optional<base::Error> run_start() override {
    this->begin(this->next());
    const StartOutcome outcome = protocol::rendezvous::start_send<mode>(this->port_, this->state_);
    if (const int error = this->port_.copy_error(); error != 0) return this->copy_failed(error);
    return this->why_not_started(outcome, this->next());
  }
  bool run_wait() noexcept override {
    return protocol::rendezvous::wait_send<mode>(this->port_, this->state_) == Progress::ended;
  }
  std::string missing(protocol::Epoch) const override {
    return missing_receive(this->port_.sender_block());
  }
};

template <protocol::Mode mode>
class RendezvousReceive final : public RendezvousPlan<Side::receiver, mode> {
 public:
  explicit RendezvousReceive(Pair pair) : RendezvousPlan<Side::receiver, mode>(std::move(pair)) {}

 private:
  std::optional<base::Error> run_start() override {
    this->begin(this->next());
    protocol::rendezvous::start_receive<mode>(this->port_, this->state_);
    return std::nullopt;
  }
  bool run_wait() noexcept override {
    return protocol::rendezvous::wait_receive<mode>(this->port_, this->state_) == Progress::ended;
  }
  std::optional<base::Error> hopeless() override {
    if (this->state_.promise_broken)
      return base::Error(base::ErrorKind::ready,
                         "a later ready send was started before its receive");
    return RendezvousPlan<Side::receiver, mode>::hopeless();
  }
  std::string missing(protocol::Epoch) const override {
    return missing_send(this->port_.receiver_block());
  }
};

}  // namespace penstock::peer
