// SPDX-License-Identifier: Apache-2.0
#include "ofi/end.hpp"

#include <fmt/format.h>
#include <rdma/fi_errno.h>

#include <utility>

#include "plan/peer_closed.hpp"

namespace penstock::ofi {

using base::Error;
using base::ErrorKind;
using Role = RdmaOperation::Role;

namespace {

// An operation that has met with a full queue fires at the next event of its counter: now and then
// we make one.
constexpr std::uint64_t polls_between_pokes = 64;

}  // namespace

End::End(Common& common, const Form& form, transport::Direction its_direction, int its_peer,
         fi_addr_t peer_address)
    : direction(its_direction),
      peer(its_peer),
      common_(common),
      form_(form),
      counters_(common.fabric, form.triggered, form.signals && common.signals, form.adds),
      words_(common.words, {common.self, peer_address}),
      signal_(form.signals ? &words_->done : &words_->consumed) {
  hand_.addition.belong_to(*this, Role::addition);
  notice_.operation.belong_to(*this, Role::notice);
}

End::~End() = default;

std::unique_ptr<RdmaOperation[]> End::operations(unsigned count, Role role) {
  auto made = std::make_unique<RdmaOperation[]>(count);
  for (unsigned i = 0; i < count; ++i) made[i].belong_to(*this, role);
  return made;
}

std::optional<Error> End::broken(protocol::Epoch epoch) const {
  // What the peer has done explains what the network says.
  if (closed_before(epoch))
    return plan::peer_closed_error(static_cast<ErrorKind>(closing_reason(load(words().closed))),
                                   peer);
  if (const Error* error = failure_.get()) return *error;
  return std::nullopt;
}

std::string End::describe_given_up() const {
  if (sends())
    return fmt::format("given up; waits for the network to end its writes to rank {}", peer);
  return fmt::format(
      "given up; waits for rank {} to end what it writes, or to say that it will not", peer);
}

// ---- Progress

bool End::ready_for_next() const noexcept {
  return !stopped_.now && !hand_.under_way() && rung_ < started() && complete(rung_);
}

bool End::advance() noexcept {
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
  look_ahead();
  return moved;
}

void End::take_doorbell() noexcept {
  rewind();
  const protocol::Epoch epoch = ++rung_;
  if (posted_.epoch < epoch) {
    posted_.epoch = epoch;
    posted_.part = {};
  }
  begin_epoch(epoch);
  if (posted_.epoch == epoch && !is_whole(posted_.part)) {
    hand_.begin(epoch, posted_.part, form_.adds);
    taken_over_ = true;
  }
}

void End::hand_on_doorbell() noexcept {
  if (!counters_.doorbell) return;
  if (!stream_rings()) counters_.doorbell->ring(1);
  if (const int code = counters_.doorbell->relay(); code < 0)
    fail(common_.fabric.error("fi_cntr_add", code));
}

// Long before a threshold would pass what a counter can hold, all counters go back, while the
// provider has nothing that waits for them. What a peer has counted already stays counted.
void End::rewind() noexcept {
  if (!counters_near_limit() || !quiet()) return;
  const auto take_back = [](const Counter& counter, std::uint64_t amount) {
    if (counter) count(counter, -static_cast<std::int64_t>(amount));
  };
  take_back(counters_.trigger, fires_at(rung_));
  take_back(counters_.data, data_through(rung_));
  take_back(counters_.signals, std::exchange(posted_.signals, 0));
  take_back(counters_.added, std::exchange(posted_.additions, 0));
  rewound();
  counters_.base = rung_;
}

bool End::quiet() const noexcept {
  return posted_.empty() && !hand_.under_way() && posted_.epoch <= rung_ && complete(rung_);
}

// What the provider has not been given in time.
bool End::carry_out() noexcept {
  if (!hand_.under_way()) return false;
  bool moved = false;
  if (!hand_.fired) {
    if (!has_fired(hand_.epoch)) return false;
    hand_.fired = moved = true;
  }
  if (issue_rest()) moved = true;
  const unsigned ours = hand_.issued - hand_.posted.parts;
  if (!has_issued_all() || hand_.placed < ours) return moved;
  if (!std::exchange(hand_.counted, true) && ours > 0) count(counters_.data, ours);
  // An origin's addition tells that all has been placed, a receiver's that it may be.
  if (sends() && !arrived(hand_.epoch)) return moved;
  if (hand_.owes_addition && !hand_.addition.under_way) {
    hand_.addition.epoch = hand_.epoch;
    if (issue_addition(hand_.addition, added_word()) == Issued::yes) {
      hand_.owes_addition = false;
      moved = true;
    }
  }
  if (hand_.owes_addition || !arrived(hand_.epoch)) return moved;
  if (counters_.signals && !hand_.posted.signal) {
    // The provider may still owe the signal of the epoch before.
    std::uint64_t& done = words_->done;
    if (load(done) != hand_.epoch - 1) return moved;
    store(done, hand_.epoch);
  }
  hand_.epoch = 0;
  return true;
}

End::Issued End::issue(RdmaOperation& operation, const char* call, bool copied) noexcept {
  const ssize_t code = operation.issue(true, copied);
  if (code == -FI_EAGAIN) return Issued::later;
  operation.under_way = code == 0;
  if (code == 0) return Issued::yes;
  fail(common_.fabric.error(call, code));
  return Issued::refused;
}

End::Issued End::issue_addition(RdmaOperation& operation, const Target& word) noexcept {
  operation.make_addition(common_.fabric.endpoint(), common_.one, word);
  return issue(operation, "fi_atomicmsg", true);
}

// The counters tell earlier than a signal, which is one operation more.
bool End::poll_counters() noexcept {
  const bool owes = hand_.under_way() && hand_.owes_addition;
  if (complete(rung_) || !protocol::triggered::is_complete(arrived(rung_), owes)) return false;
  counted_.store(rung_, std::memory_order_release);
  return true;
}

void End::poke() noexcept {
  if (complete(rung_) && posted_.empty()) {
    polls_ = 0;
  } else if (++polls_ % polls_between_pokes == 0) {
    if (counters_.trigger) count(counters_.trigger, 0);
    count(counters_.data, 0);
  }
}

bool End::has_work() const noexcept {
  if (notice_.owed) return true;
  if (stopped_.now) return !stopped_.forgotten;
  return !posted_.empty() || hand_.under_way() || rung_ < started() || !complete(rung_);
}

// ---- What the completion queue reports

void End::ended(RdmaOperation& operation) noexcept {
  operation.under_way = false;
  if (operation.role == Role::data) ++hand_.placed;
}

void End::failed(RdmaOperation& operation, int code) noexcept {
  operation.under_way = false;
  if (operation.role == Role::notice) return;  // to a process that is gone
  if (operation.role == Role::data) ++lost_.data;
  if (operation.role == Role::signal) ++lost_.signals;
  if (operation.role == Role::addition && &operation != &hand_.addition) ++lost_.additions;
  // The peer's wait of that epoch may never end, though ours has.
  if (operation.role == Role::addition && sends()) tell(operation.epoch, ErrorKind::transport);
  fail(base::error_by(ErrorKind::transport, [&] {
    return fmt::format(
        "the network ({}) reports for rank {}: {}; has its process ended? See its output",
        common_.fabric.provider(), peer, libfabric().strerror(code));
  }));
}

}  // namespace penstock::ofi
