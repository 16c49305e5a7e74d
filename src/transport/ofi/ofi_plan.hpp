// SPDX-License-Identifier: Apache-2.0
// One half of a pair on a host stream: the worker writes what it has started and rings, progress and the provider write
// the words that the wait looks at.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "transport/host_plan.hpp"
#include "transport/ofi/engine.hpp"

namespace penstock::transport::ofi {

class OfiPlan final : public HostPlan {
 public:
  OfiPlan(Engine& engine, std::shared_ptr<Channel> channel) noexcept : engine_(engine), channel_(std::move(channel)) {}
  ~OfiPlan() override { engine_.drop(channel_); }

  void expect_start() override { engine_.arm(*channel_); }
  bool peer_closed(Epoch epoch) const noexcept override { return channel_->closed_before(epoch); }
  std::string describe() const override;
  std::string path() const override;

 private:
  std::optional<base::Error> run_start() noexcept override;
  bool run_wait() noexcept override;
  std::optional<base::Error> hopeless() noexcept override;
  void run_close() noexcept override;
  void spoil() noexcept override;

  std::optional<base::Error> refused(Epoch epoch) const;
  std::optional<base::Error> take_buffer(Epoch epoch) const;
  std::optional<base::Error> broken(Epoch epoch) const;
  bool ended(Epoch epoch) const noexcept;
  bool in_slots() const noexcept { return channel_->shape.protocol == Protocol::ring; }
  bool checks_ready() const noexcept { return engine_.check_ready() && channel_->mode == Mode::ready; }

  Engine& engine_;
  std::shared_ptr<Channel> channel_;
  Epoch done_ = 0;                                       // waits that have ended; the worker's own
  base::ErrorKind reason_ = base::ErrorKind::transport;  // why the pair is spoiled, for the peer
};

}  // namespace penstock::transport::ofi
