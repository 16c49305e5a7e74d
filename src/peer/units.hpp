// SPDX-License-Identifier: Apache-2.0
// What the two ends of a channel address of each other where they share memory: words of its units,
// and the memory that messages are written to. Each end has a block in its own arena; the receiver,
// which comes second, decides how messages travel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "peer/arena.hpp"
#include "peer/exposed_memory.hpp"
#include "peer/handshake.hpp"
#include "peer/holding.hpp"
#include "peer/lasting_copy.hpp"
#include "peer/peer.hpp"
#include "peer/units_setup.hpp"
#include "transport/message.hpp"
#include "transport/wire_record.hpp"

namespace penstock::peer {

// One end of a channel, as its process knows it.
struct ChannelMessage {
  transport::Direction direction = transport::Direction::send;
  int peer = -1;  // world rank
  std::byte* buffer = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t units = 0;
  std::uint64_t unit_bytes = 0;  // the last unit may be shorter
};

// How messages come into the receive buffer.
enum class UnitWay : std::uint32_t {
  straight,  // the sender stores into it
  across,    // the kernel copies
  shadow,    // the sender stores into memory of the library's, the receiver's wait copies
  lines      // the same, and a unit has a cache line that brings the message with its word
};

struct UnitsRecord {
  std::uint64_t version = handshake_version;
  UnitWay way = UnitWay::straight;  // the receiver's choice
  std::uint32_t across = 0;         // the sender gets at the receiver's ordinary memory
  std::uint64_t eager_max = 0;      // the sender's
  MemoryRecord buffer;              // the receiver's
  ArenaAddress block;
};

class Units {
 public:
  // The sender's, not connected yet. Throws Error(resources).
  Units(Peer& owner, const ChannelMessage& ours);
  // The receiver's, from the sender's record.
  Units(Peer& owner, const ChannelMessage& ours, const UnitsRecord& theirs);
  ~Units();
  Units(const Units&) = delete;
  Units& operator=(const Units&) = delete;

  const UnitsRecord& record() const noexcept { return record_; }
  // The sender's. Throws Error, and has told the receiver then.
  void connect(const UnitsRecord& receivers);
  // The other end knows of this one, and will say when it is gone.
  void confirm() noexcept;

  const UnitsSetup& setup() const noexcept { return setup_; }
  int peer() const noexcept { return ours_.peer; }
  bool peer_dead() const noexcept { return dead_.load(std::memory_order_acquire); }
  LastingCopy& lasting_copy() noexcept { return lasting_copy_; }
  // The last thing that this end stores into the other's memory.
  void leave() noexcept;
  std::string path() const;

 private:
  void hold(std::size_t bytes_behind, std::shared_ptr<const void> kept);
  void lay_out_sender(UnitsBlock* block) noexcept;
  std::byte* lay_out_receiver(UnitsBlock* block) noexcept;
  void reach(const UnitsRecord& theirs);
  void reach_target(const UnitsRecord& receivers);

  Peer& owner_;
  const ChannelMessage ours_;
  const std::atomic<bool>& dead_;
  LastingCopy lasting_copy_;
  Holding holding_;
  UnitsRecord record_;
  UnitsSetup setup_;
  UnitWay way_ = UnitWay::straight;
  bool confirmed_ = false;
};

}  // namespace penstock::peer
