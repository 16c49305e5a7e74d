// SPDX-License-Identifier: Apache-2.0
#include "channel/words.hpp"

#include <utility>

#include "transport/wire_record.hpp"

namespace penstock::channel {

using transport::Message;

namespace {

peer::ChannelMessage message_of(const Grid& grid, const Message& message) {
  return {.direction = message.direction,
          .peer = message.peer,
          .buffer = static_cast<std::byte*>(message.buffer),
          .bytes = message.bytes,
          .units = grid.units(),
          .unit_bytes = grid.unit_bytes()};
}

}  // namespace

WordsOffer::WordsOffer(peer::Peer& by, const Grid& grid, const Message& send)
    : plan_(std::make_unique<WordPlan>(
          grid, /*sends=*/true, std::make_unique<peer::Units>(by, message_of(grid, send)))) {}

transport::WireRecord WordsOffer::record() const {
  return transport::to_wire(plan_->units().record());
}

std::unique_ptr<transport::Plan> WordsOffer::connect(std::span<const std::byte> answer) {
  plan_->units().connect(transport::from_wire<peer::UnitsRecord>(answer));
  return std::move(plan_);
}

WordsAcceptance::WordsAcceptance(peer::Peer& by, const Grid& grid, const Message& receive,
                                 std::span<const std::byte> offer)
    : plan_(std::make_unique<WordPlan>(
          grid, /*sends=*/false,
          std::make_unique<peer::Units>(by, message_of(grid, receive),
                                        transport::from_wire<peer::UnitsRecord>(offer)))) {
  record_ = plan_->units().record();
}

transport::WireRecord WordsAcceptance::record() const {
  return transport::to_wire(record_);
}

std::unique_ptr<transport::Plan> WordsAcceptance::confirm() {
  plan_->units().confirm();
  return std::move(plan_);
}

}  // namespace penstock::channel
