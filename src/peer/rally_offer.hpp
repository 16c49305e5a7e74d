// SPDX-License-Identifier: Apache-2.0
// A member's part of a direct exchange until all have agreed on it.
#pragma once

#include "peer/holding.hpp"
#include "peer/peer.hpp"
#include "peer/rally_port.hpp"
#include "transport/group.hpp"

namespace penstock::peer {

// Of a message to one member; twice as many bytes lie in the slots of each.
inline constexpr std::size_t rally_largest = 16384;

transport::Verdict can_rally(const transport::GroupMessage& ours);

struct RallyRecord {
  std::uint64_t version = handshake_version;
  std::uint64_t slot_bytes = 0;
  ArenaAddress block;
};

class RallyOffer final : public transport::GroupOffer {
 public:
  RallyOffer(Peer& owner, const transport::GroupMessage& ours);

  transport::WireRecord record() const override;
  std::unique_ptr<transport::Plan> connect(std::span<const transport::WireRecord> records) override;

 private:
  RallyPort::Route route_to(unsigned member, const RallyRecord& theirs) const;

  Peer& owner_;
  const transport::GroupMessage ours_;
  RallyBlock block_;
  Holding holding_;
};

}  // namespace penstock::peer
