// SPDX-License-Identifier: Apache-2.0
// A transport and plans that carry nothing: they stand for those whose memory would not fit many
// times into one process. The records that travel have as many bytes as those of real ones.
#pragma once

#include <memory>
#include <vector>

#include "transport/transport.hpp"

namespace penstock::scale {

class NoPlan final : public transport::Plan {
 public:
  NoPlan() = default;
  explicit NoPlan(std::vector<std::unique_ptr<transport::Plan>> ends) : ends_(std::move(ends)) {}
  void check_stream(const device::Stream&) const override {}
  void start(device::Stream&, transport::Sink&) override {}
  void wait(device::Stream&, transport::Sink&) override {}
  void hand_over(device::Stream*, device::Stream&) override {}
  void close(device::Stream&, void (*)(void*), void*) override {}
  void close() override {}
  transport::PairState pair_state(transport::Epoch) const noexcept override {
    return transport::PairState::serves;
  }
  void cancel_wait(const base::Error&) noexcept override {}
  std::string describe() const override { return ""; }
  std::string path() const override { return "nowhere"; }

 private:
  std::vector<std::unique_ptr<transport::Plan>> ends_;
};

class NoOffer final : public transport::Offer {
 public:
  explicit NoOffer(std::size_t bytes) : bytes_(bytes) {}
  transport::WireRecord record() const override { return transport::WireRecord(bytes_); }
  std::unique_ptr<transport::Plan> connect(std::span<const std::byte>) override {
    return std::make_unique<NoPlan>();
  }

 private:
  const std::size_t bytes_;
};

class NoAcceptance final : public transport::Acceptance {
 public:
  explicit NoAcceptance(std::size_t bytes) : bytes_(bytes) {}
  transport::WireRecord record() const override { return transport::WireRecord(bytes_); }
  bool needs_confirmation() const override { return false; }
  std::unique_ptr<transport::Plan> confirm() override { return std::make_unique<NoPlan>(); }

 private:
  const std::size_t bytes_;
};

class NoTransport : public transport::Transport {
 public:
  explicit NoTransport(std::size_t record_bytes) : bytes_(record_bytes) {}
  std::string name() const override { return "nowhere"; }
  transport::WireRecord address() override { return {}; }
  void add_peers(std::span<const transport::WireRecord>) override {}
  transport::Verdict usable() const override { return base::accepted(); }
  transport::Verdict can_serve(const transport::Message&) const override {
    return base::accepted();
  }
  std::unique_ptr<transport::Offer> offer(const transport::Message&) override {
    return std::make_unique<NoOffer>(bytes_);
  }
  std::unique_ptr<transport::Acceptance> accept(const transport::Message&,
                                                const transport::Message&,
                                                std::span<const std::byte>) override {
    return std::make_unique<NoAcceptance>(bytes_);
  }
  std::unique_ptr<transport::Offer> invite(const transport::Message&) override {
    return std::make_unique<NoOffer>(bytes_);
  }
  std::unique_ptr<transport::Acceptance> accept_invitation(const transport::Message&,
                                                           const transport::Message&,
                                                           std::span<const std::byte>) override {
    return std::make_unique<NoAcceptance>(bytes_);
  }

 private:
  const std::size_t bytes_;
};

// Stands first, as shared memory does among ranks of different hosts.
class OnOtherHosts final : public NoTransport {
 public:
  OnOtherHosts() : NoTransport(0) {}
  std::string name() const override { return "shared-memory"; }
  transport::Verdict can_serve(const transport::Message&) const override {
    return base::refused("peer is on another host, or sees another /dev/shm");
  }
};

}  // namespace penstock::scale
