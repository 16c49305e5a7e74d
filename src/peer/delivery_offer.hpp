// SPDX-License-Identifier: Apache-2.0
// A member's part of deliveries until all have agreed on them.
#pragma once

#include <cstdint>
#include <memory>

#include "peer/delivery_port.hpp"
#include "peer/holding.hpp"
#include "peer/peer.hpp"
#include "transport/group.hpp"

namespace penstock::peer {

struct DeliveryRecord {
  std::uint64_t version = handshake_version;
  MemoryRecord memory;  // what all incoming blocks lie in
  ArenaAddress block;
};

// Whether all members may write where their blocks go.
transport::Verdict can_deliver(const Peer& owner, const transport::GroupMessage& ours);

class DeliveryOffer final : public transport::GroupOffer {
 public:
  DeliveryOffer(Peer& owner, const transport::GroupMessage& ours);

  transport::WireRecord record() const override;
  std::unique_ptr<transport::Plan> connect(std::span<const transport::WireRecord> records) override;

 private:
  DeliverySeat& seat_of(std::size_t member) const noexcept;
  DeliveryPort::Route route_to(std::size_t member, const DeliveryRecord& theirs) const;
  std::shared_ptr<const std::byte[]> keep_aside(std::vector<DeliveryPort::Route>& routes) const;

  Peer& owner_;
  const transport::GroupMessage ours_;
  DeliveryRecord record_;
  Holding holding_;
};

}  // namespace penstock::peer
