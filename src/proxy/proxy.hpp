// SPDX-License-Identifier: Apache-2.0
// Messages by MPI itself, moved by a thread of ours: works over every MPI and for every datatype,
// and needs MPI_THREAD_MULTIPLE.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>

#include "base/settings.hpp"
#include "group/world.hpp"
#include "transport/transport.hpp"

namespace penstock::proxy {

class Proxy final : public transport::Transport {
 public:
  Proxy(const base::Settings& settings, group::World& world, std::chrono::microseconds spin);
  // While MPI still works; delivers buffered messages first, as MPI_Finalize does.
  ~Proxy() override;

  std::string name() const override { return std::string(base::proxy_transport); }
  transport::WireRecord address() override;
  void add_peers(std::span<const transport::WireRecord> addresses) override;
  transport::Verdict usable() const override;
  transport::Verdict can_serve(const transport::Message& message) const override;
  std::string against_blocking_streams() const override;
  std::unique_ptr<transport::Offer> offer(const transport::Message& send) override;
  std::unique_ptr<transport::Acceptance> accept(const transport::Message& receive,
                                                const transport::Message& send,
                                                std::span<const std::byte> offer) override;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock::proxy
