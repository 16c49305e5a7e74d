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
  if (!end_->buffer_free(epoch))
    if (auto error = find_buffer(epoch)) return error;
  end_->memory().fill_slot(epoch);
  return std::nullopt;
}

bool OfiPlan::complete(protocol::Epoch epoch) const noexcept {
  if (end_->buffered()) return true;
  if (!end_->complete(epoch)) return false;
  return !end_->sends() || !in_slots() || end_->room(epoch + 1);
}

void OfiPlan::finish(protocol::Epoch epoch) noexcept {
  if (end_->sends() || !in_slots()) return;
  end_->memory().empty_slot(epoch);
  engine_.mark_ready(*end_);  // gives the slot back
}

std::string OfiPlan::path() const {
  return fmt::format("ofi ({} over {})", name_of(end_->shape.protocol), engine_.provider());
}

std::string OfiPlan::describe() const {
  const protocol::Epoch epoch = end_->started.load(std::memory_order_acquire);
  const PairWords& words = end_->words();
  const protocol::Epoch done = end_->completed();
  std::string what;
  if (!end_->sends())
    what = fmt::format("the message ({} arrived)", done);
  else if (!end_->complete(epoch) && end_->shape.protocol == Protocol::rendezvous &&
           load(words.cts) < epoch)
    what = fmt::format("the receive (CTS {})", load(words.cts));
  else if (!end_->complete(epoch))
    what = fmt::format("the network to deliver ({} delivered)", done);
  else
    what = fmt::format("room: the receive's wait of epoch {} ({} taken)",
                       epoch + 1 - end_->shape.slots, load(words.consumed));
  return fmt::format("epoch {}, {} over {}, waits for {}", epoch, name_of(end_->shape.protocol),
                     engine_.provider(), what);
}

}  // namespace penstock::ofi
