// SPDX-License-Identifier: Apache-2.0
#include "channel/bag_match.hpp"

#include <utility>

#include "channel/bag_lane.hpp"
#include "channel/bag_source.hpp"
#include "peer/peer.hpp"
#include "transport/transport.hpp"
#include "transport/wire_record.hpp"

namespace penstock::channel {

using base::Error;
using base::ErrorKind;
using transport::Message;
using transport::WireRecord;

namespace {

struct SourceRecord {
  peer::ArenaAddress block;
};
struct LaneRecord {
  peer::ArenaAddress block;
  std::uint64_t copies = 0;  // messages go into the block, else into `slots`
  peer::MemoryRecord slots;
};

peer::Peer& require_peer(transport::Transport& by, const Message& ours) {
  auto* const peer = dynamic_cast<peer::Peer*>(&by);
  if (!peer)
    throw Error(ErrorKind::transport,
                "bags are served by peer alone, between processes that share memory");
  if (ours.memory != transport::MemoryKind::host)
    throw Error(ErrorKind::transport, "bags in memory of a GPU are not served");
  peer->retired().sweep();
  return *peer;
}

class SourceOffer final : public transport::Offer {
 public:
  SourceOffer(const BagShape& shape, peer::Peer& peer, int receiver)
      : shape_(shape),
        peer_(peer),
        receiver_(receiver),
        holding_(peer.hold(SourceBlock::bytes_for(shape), nullptr)) {}
  WireRecord record() const override { return transport::to_wire(SourceRecord{holding_.place()}); }
  std::unique_ptr<transport::Plan> connect(std::span<const std::byte> answer) override {
    const auto record = transport::from_wire<LaneRecord>(answer);
    BagTarget target;
    target.rank = receiver_;
    target.lane = reinterpret_cast<LaneBlock*>(peer_.map(receiver_, record.block));
    target.messages = record.copies != 0 ? target.lane->messages(shape_) : slots_at(record.slots);
    target.dead = &peer_.dead(receiver_);
    return std::make_unique<BagSource>(shape_, target, std::move(holding_), peer_.retired());
  }

 private:
  std::byte* slots_at(const peer::MemoryRecord& slots) const {
    const auto reached = peer_.reach(receiver_, slots);
    if (!reached || reached->process != 0)
      throw Error(ErrorKind::internal, "the bag's slots are not in shared memory");
    return reinterpret_cast<std::byte*>(reached->address);
  }

  const BagShape shape_;
  peer::Peer& peer_;
  const int receiver_;
  peer::Holding holding_;
};

class LaneAcceptance final : public transport::Acceptance {
 public:
  LaneAcceptance(const BagShape& shape, peer::Peer& peer, const Message& ours,
                 const SourceRecord& source) {
    auto* const slots = static_cast<std::byte*>(ours.buffer);
    peer::ExposedMemory exposed = peer.expose(slots, shape.bytes());
    const bool copies = exposed.record.in_arena == 0;
    auto holding = peer.hold(LaneBlock::bytes_for(shape, copies), std::move(exposed.kept));
    record_ = {holding.place(), copies ? 1u : 0u, exposed.record};
    const LaneSource from{ours.peer,
                          reinterpret_cast<SourceBlock*>(peer.map(ours.peer, source.block)),
                          &peer.dead(ours.peer)};
    lane_ = std::make_unique<BagLane>(shape, from, slots, copies, std::move(holding), peer);
  }
  WireRecord record() const override { return transport::to_wire(record_); }
  std::unique_ptr<transport::Plan> confirm() override {
    lane_->connected();
    return std::move(lane_);
  }

 private:
  LaneRecord record_;
  std::unique_ptr<BagLane> lane_;
};

}  // namespace

std::unique_ptr<transport::Offer> BagEndOfLane::offer(transport::Transport& by,
                                                      const Message& send) const {
  return std::make_unique<SourceOffer>(bag_, require_peer(by, send), send.peer);
}

std::unique_ptr<transport::Acceptance> BagEndOfLane::accept(
    transport::Transport& by, const Message& receive, const Message& /*send*/,
    std::span<const std::byte> offer) const {
  return std::make_unique<LaneAcceptance>(bag_, require_peer(by, receive), receive,
                                          transport::from_wire<SourceRecord>(offer));
}

}  // namespace penstock::channel
