// SPDX-License-Identifier: Apache-2.0
// Both ends of the pairs with one peer of a window, while it is attached.
#pragma once

#include <span>

#include "peer/holding.hpp"
#include "peer/peer.hpp"
#include "transport/window.hpp"

namespace penstock::peer {

struct WindowRecord {
  std::uint64_t version = handshake_version;
  std::uint64_t bytes = 0;       // of the window
  std::uint64_t slot_bytes = 0;  // of what comes behind our target block
  MemoryRecord memory;
  ArenaAddress origin_block;
  ArenaAddress target_block;  // the slots follow
};

class PeerWindow final : public transport::WindowOffer {
 public:
  PeerWindow(Peer& owner, const transport::WindowMemory& ours, int peer);
  ~PeerWindow() override;

  transport::WireRecord record() const override;
  transport::WindowEnds connect(std::span<const std::byte> theirs,
                                transport::OperationLists& lists) override;

 private:
  Peer& owner_;
  const transport::WindowMemory ours_;
  const int peer_;
  Holding origin_, target_;
  WindowRecord record_;
  // The peer may connect to our blocks, and will then say when it stores nothing more.
  mutable bool told_ = false;
};

}  // namespace penstock::peer
