// SPDX-License-Identifier: Apache-2.0
// What the ends of all pairs have in common, on both sides and both paths: what was fixed at match,
// and the words that tell about it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "base/error.hpp"
#include "peer/copy_error.hpp"
#include "peer/holding.hpp"
#include "peer/host_port.hpp"
#include "peer/lasting_copy.hpp"
#include "protocol/state.hpp"

namespace penstock::peer {

using protocol::StartOutcome;

// The private words of a message's end.
template <protocol::Side side>
using StateOf =
    std::conditional_t<side == protocol::Side::sender, protocol::SendState, protocol::ReceiveState>;

// Everything fixed at match.
struct Pair {
  int peer = -1;  // world rank
  const std::atomic<bool>* peer_dead = nullptr;
  std::chrono::milliseconds timeout{0};  // for a copy that lasts when it is wanted no more
  PortSetup port;
  std::shared_ptr<const datatype::Segments> segments, other_segments;  // that the port looks at
  Holding holding;
  Retired* retired = nullptr;
  std::string path;     // for the pair's log line
  bool window = false;  // of a window's: told otherwise
};

class PairEnd {
 public:
  PairEnd(Pair pair, const std::uint64_t& closed_by_peer);  // which lies in our block
  ~PairEnd();

  const std::string& path() const noexcept { return path_; }

  // The epoch that a start begins, kept for what is told of a wait on another thread.
  void begin(protocol::Epoch epoch) noexcept { epoch_.store(epoch, std::memory_order_relaxed); }
  protocol::Epoch epoch() const noexcept { return epoch_.load(std::memory_order_relaxed); }

  std::optional<base::Error> why_hopeless(protocol::Epoch epoch, bool peer_closed) const;
  std::optional<base::Error> why_not_started(StartOutcome outcome, protocol::Epoch epoch) const;
  // Of what the peer copies into a buffer that is given up.
  LastingCopy& lasting_copy() noexcept { return lasting_copy_; }
  base::Error copy_failed(int error) const { return copy_error(peer_, error); }

 private:
  base::Error closed_error(protocol::Epoch epoch) const;

  const std::uint64_t& closed_by_peer_;
  int peer_;
  const std::atomic<bool>& peer_dead_;
  std::atomic<protocol::Epoch> epoch_{0};
  std::shared_ptr<const datatype::Segments> segments_, other_segments_;
  Holding holding_;
  Retired& retired_;
  std::string path_;
  bool window_;
  LastingCopy lasting_copy_;
};

}  // namespace penstock::peer
