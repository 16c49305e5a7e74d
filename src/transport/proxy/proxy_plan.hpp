// SPDX-License-Identifier: Apache-2.0
// One half of a pair on a host stream: the worker writes a trigger word, progress gives the operation to MPI and writes
// the word that the wait looks at.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "transport/host_plan.hpp"
#include "transport/proxy/engine.hpp"

namespace penstock::transport::proxy {

class ProxyPlan final : public HostPlan {
 public:
  ProxyPlan(Engine& engine, std::shared_ptr<Channel> channel) noexcept
      : engine_(engine), channel_(std::move(channel)) {}

  bool peer_closed(Epoch epoch) const noexcept override { return channel_->closed_before(epoch); }
  std::string describe() const override;
  std::string path() const override { return "proxy (messages of MPI)"; }

 private:
  std::optional<base::Error> run_start() noexcept override;
  bool run_wait() noexcept override;
  std::optional<base::Error> hopeless() noexcept override;
  void run_close() noexcept override;
  void spoil() noexcept override;

  std::optional<base::Error> refused(Epoch epoch) const;
  std::optional<base::Error> take_buffer(Epoch epoch);
  std::optional<base::Error> dead() const;
  bool ended(Epoch epoch) const noexcept;
  bool checks_ready() const noexcept { return engine_.check_ready() && channel_->mode == Mode::ready; }

  Engine& engine_;
  const std::shared_ptr<Channel> channel_;
  Epoch done_ = 0;                                       // waits that have ended; the worker's own
  base::ErrorKind reason_ = base::ErrorKind::transport;  // why the pair is spoiled, for the peer
};

}  // namespace penstock::transport::proxy
