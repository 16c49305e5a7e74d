// SPDX-License-Identifier: Apache-2.0
#include "ofi/pair_end.hpp"

#include <fmt/format.h>
#include <rdma/fi_errno.h>

namespace penstock::ofi {

using Role = RdmaOperation::Role;

namespace {

const char* name_of(Path path) {
  switch (path) {
    case Path::ring:
      return "ring";
    case Path::rendezvous:
      return "rendezvous";
    case Path::ready:
      return "ready";
  }
  return "?";
}

}  // namespace

// ---- At match

End::Form PairEnd::form_of(transport::Direction direction, const Cut& cut) noexcept {
  const bool sends = direction == transport::Direction::send;
  const bool rendezvous = cut.path == Path::rendezvous;
  return {.triggered = sends || rendezvous,
          .signals = true,
          .adds = rendezvous && !sends,
          .waits_for_peer = rendezvous && sends};
}

PairEnd::PairEnd(Common& common, const transport::Message& message, protocol::Mode send_mode,
                 const Cut& form, fi_addr_t peer_address)
    : End(common, form_of(message.direction, form), message.direction, message.peer, peer_address),
      mode(send_mode),
      cut(form),
      memory_(common.fabric, words_, message, cut, buffered(), counters_) {
  credits_.query.belong_to(*this, Role::credit_query);
  if (sends()) {
    hand_.parts = operations(cut.parts, Role::data);
  } else if (memory_.has_slots()) {
    credits_.operations = operations(cut.slots, Role::credit);
  }
}

PairEnd::~PairEnd() {
  if (over()) words_.are_free();
}

std::string PairEnd::path() const {
  return fmt::format("ofi ({} over {})", name_of(cut.path), common_.fabric.provider());
}

std::string PairEnd::describe() const {
  const protocol::Epoch epoch = started();
  const PairWords& ours = words();
  const protocol::Epoch done = completed();
  std::string what;
  if (!sends())
    what = fmt::format("the message ({} arrived)", done);
  else if (!complete(epoch) && cut.path == Path::rendezvous && load(ours.cts) < epoch)
    what = fmt::format("the receive (CTS {})", load(ours.cts));
  else if (!complete(epoch))
    what = fmt::format("the network to deliver ({} delivered)", done);
  else
    what = fmt::format("room: the receive's wait of epoch {} ({} taken)", epoch + 1 - cut.slots,
                       load(ours.consumed));
  return fmt::format("epoch {}, {} over {}, waits for {}", epoch, name_of(cut.path),
                     common_.fabric.provider(), what);
}

// ---- What the provider is given ahead

unsigned PairEnd::entries() const noexcept {
  const protocol::Epoch epoch = posted_.epoch + 1;
  if (!may_post_next() || data_through(epoch) >= common_.counter_limit) return 0;
  return (counters_.signals ? 1 : 0) + (sends() ? cut.parts : rendezvous() ? 1 : 0);
}

bool PairEnd::is_whole(const PostedPart& part) const noexcept {
  if (counters_.signals && !part.signal) return false;
  return sends() ? part.parts == cut.parts : part.addition || !rendezvous();
}

bool PairEnd::defer_data(protocol::Epoch epoch, unsigned part) noexcept {
  RdmaOperation* const operation = take_operation(epoch, Role::data);
  if (operation == nullptr) return false;
  operation->number = data_through(epoch);
  operation->make_write(common_.fabric.endpoint(), memory_.source(epoch, part),
                        memory_.target(epoch, part));
  return defer(operation, counters_.trigger, fires_at(epoch), counters_.data);
}

// Where there are signals, writes stand behind that of their epoch, which ends after them.
unsigned PairEnd::post() noexcept {
  const protocol::Epoch epoch = posted_.epoch + 1;
  PostedPart part;
  if (counters_.signals) {
    if (!defer_signal(epoch, counters_.data, data_through(epoch))) return 0;
    part.signal = true;
  }
  if (sends())
    while (part.parts < cut.parts && defer_data(epoch, part.parts)) ++part.parts;
  else
    part.addition = rendezvous() && defer_addition(epoch, counters_.trigger, fires_at(epoch));
  const unsigned taken = (part.signal ? 1 : 0) + (part.addition ? 1 : 0) + part.parts;
  if (taken == 0) return 0;
  posted_.epoch = epoch;
  posted_.part = part;
  return taken;
}

// ---- What the engine issues

bool PairEnd::issue_rest() noexcept {
  bool moved = false;
  while (unissued() > 0) {
    RdmaOperation& operation = hand_.parts[hand_.issued];
    operation.epoch = hand_.epoch;
    operation.make_write(common_.fabric.endpoint(), memory_.source(hand_.epoch, hand_.issued),
                         memory_.target(hand_.epoch, hand_.issued));
    if (issue(operation, "fi_writemsg", false) != Issued::yes) break;
    ++hand_.issued;
    moved = true;
  }
  return moved;
}

// Also after a failure: what has been taken before may be what a wait of the sender stands for.
bool PairEnd::give_credits() noexcept {
  const protocol::Epoch taken = load(words().taken);
  bool moved = false;
  while (credits_.count.owed(taken)) {
    RdmaOperation& operation = credits_.operations[credits_.count.given % cut.slots];
    if (operation.under_way) break;
    const Issued issued = issue_addition(operation, words_.remote(offsetof(PairWords, consumed)));
    if (issued == Issued::later) break;
    moved = true;
    credits_.count.refused = issued == Issued::refused;
    if (credits_.count.refused) break;
    ++credits_.count.given;
  }
  return moved;
}

bool PairEnd::query_credits() noexcept {
  // An earlier one, whose answer may be older than what the program knows.
  if (credits_.query.under_way) return false;
  credits_.query.make_read(common_.fabric.endpoint(), words_.local(words_->seen),
                           words_.remote(offsetof(PairWords, taken)));
  return issue(credits_.query, "fi_readmsg", false) == Issued::yes;
}

bool PairEnd::has_work() const noexcept {
  return End::has_work() || (!stopped_.now && credits_.count.owed(load(words().taken)));
}

// The credit counts as given, and may never come: then the peer's words serve no other pair.
void PairEnd::failed(RdmaOperation& operation, int code) noexcept {
  if (operation.role == Role::credit) credits_.count.refused = true;
  End::failed(operation, code);
}

// What is reported names its operation, which must be there until then.
bool PairEnd::anything_under_way() const noexcept {
  if (End::anything_under_way() || credits_.query.under_way) return true;
  for (unsigned i = 0; credits_.operations && i < cut.slots; ++i)
    if (credits_.operations[i].under_way) return true;
  return false;
}

}  // namespace penstock::ofi
