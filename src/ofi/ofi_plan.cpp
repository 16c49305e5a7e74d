// SPDX-License-Identifier: Apache-2.0
#include "ofi/ofi_plan.hpp"

#include <fmt/format.h>

namespace penstock::ofi {

using base::Error;

namespace {

const char* name_of(Protocol protocol) {
  switch (protocol) {
    case Protocol::ring:
      return "ring";
    case Protocol::rendezvous:
      return "rendezvous";
    case Protocol::ready:
      return "ready";
  }
  return "?";
}

}  // namespace

std::optional<Error> OfiPlan::take_buffer(protocol::Epoch epoch) {
  if (!channel_->buffer_free(epoch))
    if (auto error = find_buffer(epoch)) return error;
  channel_->fill(epoch);
  return std::nullopt;
}

bool OfiPlan::complete(protocol::Epoch epoch) const noexcept {
  if (channel_->buffered()) return true;
  if (!channel_->complete(epoch)) return false;
  return !channel_->sends() || !in_slots() || channel_->room(epoch + 1);
}

void OfiPlan::finish(protocol::Epoch epoch) noexcept {
  engine_.leave();
  if (channel_->sends() || !in_slots()) return;
  channel_->take_out(epoch);
  engine_.mark_ready(*channel_);  // gives the slot back
}

std::string OfiPlan::path() const {
  return fmt::format("ofi ({} over {})", name_of(channel_->shape.protocol), engine_.provider());
}

std::string OfiPlan::describe() const {
  const protocol::Epoch epoch = channel_->started.load(std::memory_order_acquire);
  const Words& words = channel_->words();
  const protocol::Epoch done = channel_->completed();
  std::string what;
  if (!channel_->sends())
    what = fmt::format("the message ({} arrived)", done);
  else if (!channel_->complete(epoch) && channel_->shape.protocol == Protocol::rendezvous &&
           load(words.cts) < epoch)
    what = fmt::format("the receive (CTS {})", load(words.cts));
  else if (!channel_->complete(epoch))
    what = fmt::format("the network to deliver ({} delivered)", done);
  else
    what = fmt::format("room: the receive's wait of epoch {} ({} taken)",
                       epoch + 1 - channel_->shape.slots, load(words.consumed));
  return fmt::format("epoch {}, {} over {}, waits for {}", epoch, name_of(channel_->shape.protocol),
                     engine_.provider(), what);
}

}  // namespace penstock::ofi
