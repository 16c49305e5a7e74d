// SPDX-License-Identifier: Apache-2.0
#include "ofi/pair_end.hpp"

#include <fmt/format.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <utility>

#include "plan/peer_closed.hpp"

namespace penstock::ofi {

using base::Error;
using base::ErrorKind;

namespace {

// An operation that has met with a full queue fires at the next event of its counter: now and then
// we make one.
constexpr std::uint64_t polls_between_pokes = 64;

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

PairEnd::PairEnd(Common& common, const transport::Message& message, protocol::Mode send_mode,
                 const Cut& form, fi_addr_t peer_address)
    : direction(message.direction),
      mode(send_mode),
      peer(message.peer),
      cut(form),
      common_(common),
      counters_(common.fabric, sends() || rendezvous(), common.signals, rendezvous() && !sends()),
      memory_({common.fabric, common.words, common.self, peer_address}, message, cut, buffered(),
              counters_) {
  using enum RdmaOperation::Role;
  hand_.cts.belong_to(*this, cts);
  credits_.query.belong_to(*this, credit_query);
  notice_.operation.belong_to(*this, notice);
  if (sends()) {
    hand_.writes = operations(cut.parts, data);
  } else if (memory_.has_slots()) {
    credits_.operations = operations(cut.slots, credit);
  }
}

PairEnd::~PairEnd() {
  if (over()) memory_.words_are_free();
}

std::unique_ptr<RdmaOperation[]> PairEnd::operations(unsigned count, RdmaOperation::Role role) {
  auto made = std::make_unique<RdmaOperation[]>(count);
  for (unsigned i = 0; i < count; ++i) made[i].belong_to(*this, role);
  return made;
}

std::optional<Error> PairEnd::broken(protocol::Epoch epoch) const {
  // What the peer has done explains what the network says.
  if (closed_before(epoch))
    return plan::peer_closed_error(static_cast<ErrorKind>(closing_reason(load(words().closed))),
                                   peer);
  if (const Error* error = failure_.get()) return *error;
  return std::nullopt;
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

std::string PairEnd::describe_given_up() const {
  if (sends())
    return fmt::format("given up; waits for the network to end its writes to rank {}", peer);
  return fmt::format(
      "given up; waits for rank {} to end what it writes, or to say that it will not", peer);
}

// ---- Progress

bool PairEnd::ready_for_next() const noexcept {
  return !stopped_.now && !hand_.under_way() && rung_ < started() && complete(rung_);
}

bool PairEnd::advance() noexcept {
  bool moved = false;
  if (!stopped_.now) {
    moved = carry_out();
    if (poll_counters()) moved = true;
    while (ready_for_next()) {
      take_doorbell();
      hand_on_doorbell();
      moved = true;
      carry_out();
      poll_counters();
    }
  }
  if (!stopped_.forgotten) poke();
  if (stopped_.now ? forget_posted() : free_entries()) moved = true;
  if (give_credits()) moved = true;
  if (send_notice()) moved = true;
  return moved;
}

void PairEnd::take_doorbell() noexcept {
  rewind();
  const protocol::Epoch epoch = ++rung_;
  if (posted_.epoch < epoch) {
    posted_.epoch = epoch;
    posted_.part = {};
  }
  if (posted_.epoch == epoch && !whole(posted_.part)) {
    hand_.begin(epoch, posted_.part, !sends() && rendezvous() && !posted_.part.cts);
    taken_over_ = true;
  }
}

void PairEnd::hand_on_doorbell() noexcept {
  if (!counters_.doorbell) return;
  if (!stream_rings()) counters_.doorbell->ring(1);
  if (const int code = counters_.doorbell->relay(); code < 0)
    fail(common_.fabric.error("fi_cntr_add", code));
}

// Long before a threshold would pass what a counter can hold, all counters go back, while the
// provider has nothing that waits for them. What a peer has counted already stays counted.
void PairEnd::rewind() noexcept {
  const std::uint64_t epochs = relative(rung_);
  if ((epochs + 1) * std::max<std::uint64_t>(2, cut.parts) < common_.counter_limit || !quiet())
    return;
  const auto amount = static_cast<std::int64_t>(epochs);
  if (counters_.trigger) count(counters_.trigger, -amount * static_cast<std::int64_t>(steps()));
  count(counters_.data, -amount * cut.parts);
  if (counters_.signals)
    count(counters_.signals, -static_cast<std::int64_t>(std::exchange(posted_.signals, 0)));
  if (counters_.cts_ends)
    count(counters_.cts_ends, -static_cast<std::int64_t>(std::exchange(posted_.cts, 0)));
  counters_.base = rung_;
}

bool PairEnd::quiet() const noexcept {
  return posted_.empty() && !hand_.under_way() && posted_.epoch <= rung_ && complete(rung_);
}

// What the provider has not been given in time.
bool PairEnd::carry_out() noexcept {
  if (!hand_.under_way()) return false;
  bool moved = false;
  if (!hand_.fired) {
    if (counters_.trigger && read(counters_.trigger) < steps() * relative(hand_.epoch))
      return false;
    hand_.fired = moved = true;
  }
  if (sends()) {
    if (issue_parts()) moved = true;
    const unsigned ours = cut.parts - hand_.posted.parts;
    if (hand_.placed < ours) return moved;
    if (!std::exchange(hand_.counted, true)) count(counters_.data, ours);
  } else if (send_cts()) {
    moved = true;
  }
  if (hand_.cts_owed || read(counters_.data) < cut.parts * relative(hand_.epoch)) return moved;
  if (common_.signals && !hand_.posted.signal) {
    // The provider may still owe the signal of the epoch before.
    std::uint64_t& done = memory_.words().done;
    if (load(done) != hand_.epoch - 1) return moved;
    store(done, hand_.epoch);
  }
  hand_.epoch = 0;
  return true;
}

bool PairEnd::issue_parts() noexcept {
  bool moved = false;
  while (hand_.issued < cut.parts) {
    RdmaOperation& operation = hand_.writes[hand_.issued];
    operation.epoch = hand_.epoch;
    operation.make_write(common_.fabric.endpoint(), memory_.source(hand_.epoch, hand_.issued),
                         memory_.target(hand_.epoch, hand_.issued));
    const ssize_t code = operation.issue(true, false);
    if (code == -FI_EAGAIN) break;
    if (code != 0) {
      fail(common_.fabric.error("fi_writemsg", code));
      break;
    }
    ++hand_.issued;
    moved = true;
  }
  return moved;
}

bool PairEnd::send_cts() noexcept {
  if (!hand_.cts_owed || hand_.cts.under_way) return false;
  hand_.cts.make_addition(common_.fabric.endpoint(), common_.one, memory_.cts_target());
  const ssize_t code = hand_.cts.issue(true, true);
  if (code == -FI_EAGAIN) return false;
  if (code != 0) fail(common_.fabric.error("fi_atomicmsg", code));
  hand_.cts.under_way = code == 0;
  hand_.cts_owed = false;
  return true;
}

// The counters tell earlier than a signal, which is one operation more.
bool PairEnd::poll_counters() noexcept {
  if (complete(rung_) || read(counters_.data) < cut.parts * relative(rung_)) return false;
  counted_.store(rung_, std::memory_order_release);
  return true;
}

bool PairEnd::arrived(protocol::Epoch epoch) const noexcept {
  return read(counters_.data) >= cut.parts * relative(epoch);
}

void PairEnd::poke() noexcept {
  if (complete(rung_) && posted_.empty()) {
    polls_ = 0;
  } else if (++polls_ % polls_between_pokes == 0) {
    if (counters_.trigger) count(counters_.trigger, 0);
    count(counters_.data, 0);
  }
}

// Also after a failure: what has been taken before may be what a wait of the sender stands for.
bool PairEnd::give_credits() noexcept {
  const protocol::Epoch taken = load(words().taken);
  bool moved = false;
  while (credits_.count.owed(taken)) {
    RdmaOperation& operation = credits_.operations[credits_.count.given % cut.slots];
    if (operation.under_way) break;
    operation.make_addition(common_.fabric.endpoint(), common_.one,
                            memory_.remote_word(offsetof(PairWords, consumed)));
    const ssize_t code = operation.issue(true, true);
    if (code == -FI_EAGAIN) break;
    moved = true;
    if (code != 0) {
      credits_.count.refused = true;
      fail(common_.fabric.error("fi_atomicmsg", code));
      break;
    }
    operation.under_way = true;
    ++credits_.count.given;
  }
  return moved;
}

bool PairEnd::query_credits() noexcept {
  // An earlier one, whose answer may be older than what the program knows.
  if (credits_.query.under_way) return false;
  credits_.query.make_read(common_.fabric.endpoint(), memory_.landing_word(memory_.words().seen),
                           memory_.remote_word(offsetof(PairWords, taken)));
  const ssize_t code = credits_.query.issue(true, false);
  if (code == -FI_EAGAIN) return false;
  if (code != 0) fail(common_.fabric.error("fi_readmsg", code));
  credits_.query.under_way = code == 0;
  return code == 0;
}

bool PairEnd::has_work() const noexcept {
  if (notice_.owed) return true;
  if (stopped_.now) return !stopped_.forgotten;
  if (!posted_.empty()) return true;
  return hand_.under_way() || rung_ < started() || !complete(rung_) ||
         credits_.count.owed(load(words().taken));
}

// ---- What the completion queue reports

void PairEnd::ended(RdmaOperation& operation) noexcept {
  operation.under_way = false;
  if (operation.role == RdmaOperation::Role::data) ++hand_.placed;
}

void PairEnd::failed(RdmaOperation& operation, int code) noexcept {
  using enum RdmaOperation::Role;
  operation.under_way = false;
  if (operation.role == notice) return;  // to a process that is gone
  // The credit counts as given, and may never come: then the peer's words serve no other pair.
  if (operation.role == credit) credits_.count.refused = true;
  const bool counted = operation.role == data || operation.role == signal || operation.role == cts;
  if (counted && &operation != &hand_.cts) ++lost_;
  fail(base::error_by(ErrorKind::transport, [&] {
    return fmt::format(
        "the network ({}) reports for rank {}: {}; has its process ended? See its output",
        common_.fabric.provider(), peer, libfabric().strerror(code));
  }));
}

}  // namespace penstock::ofi
