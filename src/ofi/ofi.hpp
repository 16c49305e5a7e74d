// SPDX-License-Identifier: Apache-2.0
// Messages by deferred operations of libfabric: released by a counter, completed by a word in
// memory, without a call of the host between start and wait where the network can do that by
// itself.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/settings.hpp"
#include "device/gpu.hpp"
#include "group/world.hpp"
#include "ofi/statistics.hpp"
#include "transport/transport.hpp"

namespace penstock::ofi {

class Ofi final : public transport::Transport {
 public:
  // `needed`, asked at address(): whether any process may need it. Otherwise nothing is opened.
  // `for_gpus`: messages may lie in memory of GPUs.
  Ofi(const base::Settings& settings, group::World& world, std::chrono::microseconds spin,
      std::function<bool()> needed, bool for_gpus = device::built_for_gpus);
  ~Ofi() override;  // while MPI still works; delivers buffered messages first, as MPI_Finalize does

  std::string name() const override { return std::string(base::ofi_transport); }
  transport::WireRecord address() override;
  void add_peers(std::span<const transport::WireRecord> addresses) override;
  transport::Verdict usable() const override;
  transport::Counts counts() const override;
  transport::Verdict can_serve(const transport::Message& message) const override;
  std::string against_blocking_streams() const override;
  std::unique_ptr<transport::Offer> offer(const transport::Message& send) override;
  std::unique_ptr<transport::Acceptance> accept(const transport::Message& receive,
                                                const transport::Message& send,
                                                std::span<const std::byte> offer) override;
  void queue_waited() noexcept override;

  Statistics statistics() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock::ofi
