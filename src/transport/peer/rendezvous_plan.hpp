// SPDX-License-Identifier: Apache-2.0
// The two ends of a rendezvous between buffers that each side can reach.
#pragma once

#include <utility>

#include "protocol/rendezvous.hpp"
#include "transport/peer/pair_plan.hpp"

namespace penstock::transport::peer {

std::string missing_receive(const SenderBlock& block);
std::string missing_send(const ReceiverBlock& block);

// What both ends do about copies that fail or that cannot be trusted.
class RendezvousPlan : public PairPlan {
 protected:
  RendezvousPlan(const PortSetup& port, Pair&& pair, std::uint64_t& closed_by_us, std::uint64_t& closed_by_peer)
      : PairPlan(std::move(pair), closed_by_us, closed_by_peer), port_(port) {}

  // An epoch that is claimed is copied by the claimer or by nobody, so a peer that looks now leaves our buffer alone.
  void keep_peer_from_copying(Epoch epoch) noexcept final { port_.exchange(protocol::Word::claim, epoch); }

  std::optional<base::Error> hopeless() noexcept override {
    if (port_.copy_error() != 0) return copy_failed(port_.copy_error());
    return why_hopeless(done() + 1);
  }

  // The protocol has ended the wait of `epoch`; but a peer that gave the epoch up may have reused its buffer while we
  // copied.
  bool trust(Epoch epoch) noexcept {
    if (port_.copy_error() == 0 && !peer_closed(epoch)) return true;
    distrusted_ = true;
    return false;
  }

  HostPort<cache_line> port_;
  bool distrusted_ = false;
};

template <protocol::Mode mode>
class RendezvousSend final : public RendezvousPlan {
 public:
  explicit RendezvousSend(Pair pair) : RendezvousSend(pair.port, std::move(pair)) {}

 private:
  RendezvousSend(const PortSetup& port, Pair&& pair)
      : RendezvousPlan(port, std::move(pair), port.receiver->closed, port.sender->closed) {}

  std::optional<base::Error> run_start() noexcept override {
    const Epoch epoch = state_.done + 1;
    begin(epoch);
    if (peer_closed(epoch)) return peer_freed(epoch);
    if (protocol::rendezvous::start_send<mode>(port_, state_) == protocol::StartOutcome::receiver_not_started)
      return base::Error(base::ErrorKind::ready, "ready send started before its receive");
    if (port_.copy_error() != 0) return copy_failed(port_.copy_error());
    return std::nullopt;
  }
  bool run_wait() noexcept override {
    if (distrusted_ || port_.copy_error() != 0) return false;
    return protocol::rendezvous::wait_send<mode>(port_, state_) == protocol::Progress::ended && trust(state_.done);
  }

  Epoch done() const noexcept override { return distrusted_ ? state_.done - 1 : state_.done; }
  std::string missing(Epoch) const override { return missing_receive(port_.sender_block()); }

  protocol::SendState state_;
};

template <protocol::Mode mode>
class RendezvousReceive final : public RendezvousPlan {
 public:
  explicit RendezvousReceive(Pair pair) : RendezvousReceive(pair.port, std::move(pair)) {}

 private:
  RendezvousReceive(const PortSetup& port, Pair&& pair)
      : RendezvousPlan(port, std::move(pair), port.sender->closed, port.receiver->closed) {}

  std::optional<base::Error> run_start() noexcept override {
    begin(state_.done + 1);
    protocol::rendezvous::start_receive<mode>(port_, state_);
    return std::nullopt;
  }
  bool run_wait() noexcept override {
    if (distrusted_ || port_.copy_error() != 0) return false;
    if (protocol::rendezvous::wait_receive<mode>(port_, state_) != protocol::Progress::ended) return false;
    if (state_.promise_broken) distrusted_ = true;
    return !state_.promise_broken && trust(state_.done);
  }

  Epoch done() const noexcept override { return distrusted_ ? state_.done - 1 : state_.done; }
  std::string missing(Epoch) const override { return missing_send(port_.receiver_block()); }
  std::optional<base::Error> hopeless() noexcept override {
    if (state_.promise_broken)
      return base::Error(base::ErrorKind::ready, "a later ready send was started before its receive");
    return RendezvousPlan::hopeless();
  }

  protocol::ReceiveState state_;
};

}  // namespace penstock::transport::peer
