// SPDX-License-Identifier: Apache-2.0
// Brings a message from the memory of its sender, a process of this host: mapped where that lies in
// its arena, else by the kernel's copy.
#pragma once

#include "base/verdict.hpp"
#include "overlap/message.hpp"
#include "peer/peer.hpp"

namespace penstock::overlap {

class Courier {
 public:
  explicit Courier(const peer::Peer& peer) noexcept : peer_(peer) {}

  // Whether that process may read memory of ours, whatever it is.
  bool serves(int rank) const noexcept { return peer_.reached_by(rank, {}); }
  // Announces the message's memory, for it to be read. Packs it where its pieces are too many or
  // too small. Throws base::Error, std::bad_alloc.
  void expose(Send& send) const;
  // The whole message of a receive that is matched. Any thread. Returns 0 or an errno.
  int pull(const Receive& receive) const noexcept;

 private:
  const peer::Peer& peer_;
};

}  // namespace penstock::overlap
