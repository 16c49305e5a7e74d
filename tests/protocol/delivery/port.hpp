// SPDX-License-Identifier: Apache-2.0
// The port of a member in the model, with what is planted in it.
#pragma once

#include "protocol/delivery.hpp"
#include "protocol/delivery/state.hpp"

namespace penstock::explorer::deliveries {

class Port {
 public:
  Port(const Scenario& scenario, State& state, Replay& hands)
      : scenario_(scenario),
        places_(scenario),
        all_(state),
        hands_(hands),
        actor_(state.actors[hands.thread]) {}

  unsigned members() const { return scenario_.members; }
  unsigned me() const { return hands_.thread; }
  unsigned batch() const {
    return scenario_.together && !is(Defect::pairs_together) ? members() - 1 : 1;
  }
  bool sends_to(unsigned member) const {
    return scenario_.together || scenario_.blocks[me()][member];
  }
  bool takes_from(unsigned member) const {
    return scenario_.together || scenario_.blocks[member][me()];
  }

  void set_aside() {
    if (!scenario_.in_place || is(Defect::not_aside)) return;
    for (unsigned to = 0; to < members(); ++to)
      if (to != me() && has_block(me(), to)) read(me(), to);
  }
  void copy(unsigned to) {
    if (is(Defect::done_first)) store_word(places_.done(to, me()), epoch(), "DONE");
    const bool fails = copy_fails();
    if (!hands_.live()) return;
    if (scenario_.together && !all_have_started()) hands_.fail("a block goes before the barrier");
    if (!has_block(me(), to)) return;
    if (all_.actors[to].has_left == 0)
      write(to, me(), fails ? no_data : to_send(to));
    else
      all_.actors[to].strayed_by |= static_cast<std::uint8_t>(1u << me());
  }
  static void copy_own() {}
  bool copy_failed() const { return actor_.copy_failed != 0 && !is(Defect::failure_unseen); }

  Epoch served(unsigned member) const { return actor_.served[member]; }
  void set_served(unsigned member, Epoch epoch) {
    actor_.served[member] = static_cast<std::uint8_t>(epoch);
  }

  void store_cts(unsigned member, Epoch epoch) {
    const bool early = is(Defect::early_start) && epoch < scenario_.epochs;
    store_word(places_.cts(member, me()), early ? epoch + 1 : epoch, "CTS",
               is(Defect::cts_relaxed) ? Order::relaxed : Order::release);
  }
  void store_done(unsigned member, Epoch epoch) {
    if (is(Defect::done_first)) return;
    store_word(places_.done(member, me()), epoch, "DONE",
               is(Defect::done_relaxed) ? Order::relaxed : Order::release);
  }
  void store_closed(unsigned member, std::uint64_t value) {
    if (is(Defect::closed_untold) && member == (me() + 1) % members()) return;
    store_word(places_.closed(member, me()), value, "CLOSED",
               is(Defect::closed_relaxed) ? Order::relaxed : Order::release);
  }
  Epoch load_cts(unsigned member) {
    if (is(Defect::cts_unread)) return epoch();
    const Value value = hands_.load(places_.cts(me(), member), Order::acquire, "CTS");
    return is(Defect::cts_of_before) && value != 0 ? epoch() : value;
  }
  Epoch load_done(unsigned member) {
    const Value value = hands_.load(places_.done(me(), member), Order::acquire, "DONE");
    return is(Defect::done_of_before) && value != 0 ? epoch() : value;
  }
  std::uint64_t load_closed(unsigned member) {
    if (is(Defect::closed_unread) && copied_) return 0;
    if (scenario_.may_die != 0 &&
        hands_.load(places_.dead(member), Order::acquire, "whether dead") != 0)
      return 1;  // it serves nothing
    const bool relaxed = is(Defect::closed_asked_relaxed) && actor_.at == At::ask;
    return hands_.load(places_.closed(me(), member), relaxed ? Order::relaxed : Order::acquire,
                       "CLOSED");
  }
  void fence() {
    copied_ = actor_.at != At::close;
    if (is(Defect::done_relaxed)) return;
    if (is(actor_.at == At::close ? Defect::closed_unfenced : Defect::no_fence)) return;
    hands_.fence(Order::seq_cst);
  }

  // ---- The program
  // Before a start: its buffer is its own, and gets what goes in place, or nothing.
  void fill_buffer() {
    for (unsigned other = 0; other < members(); ++other)
      if (other != me() && hands_.live())
        write(me(), other, scenario_.in_place ? contribution(me(), other, epoch()) : no_data);
  }
  // Behind a wait.
  void check_buffer() {
    for (unsigned from = 0; from < members(); ++from)
      if (from != me() && has_block(from, me()) && hands_.live() &&
          read(me(), from) != contribution(from, me(), epoch()))
        hands_.fail("what has come is not of this epoch");
  }
  // All words here serve something else.
  void reuse_words() {
    for (unsigned by = 0; by < members(); ++by)
      for (const unsigned word : {places_.cts(me(), by), places_.done(me(), by)})
        if (by != me() && hands_.live() &&
            !all_.memory.store(hands_.thread, word, Order::relaxed, 0))
          hands_.fail("a word comes into memory in new use");
  }
  // Whether all that this wait needs has been done and said.
  bool is_over() const {
    bool over = true;
    for (unsigned other = 0; other < members(); ++other) {
      if (other == me()) continue;
      if (sends_to(other)) over = over && served(other) == epoch();
      if (takes_from(other))
        over = over && all_.memory.newest(places_.done(me(), other)) >= epoch();
    }
    return over;
  }

  Epoch epoch() const { return actor_.done + 1u; }
  bool is(Defect defect) const { return scenario_.defect == defect; }

 private:
  bool has_block(unsigned from, unsigned to) const { return scenario_.blocks[from][to]; }
  // It may have written a part by then.
  bool copy_fails() {
    if ((scenario_.may_fail_to_copy >> me() & 1) == 0) return false;
    if (hands_.choose(2, "whether a copy fails") == 0) return false;
    actor_.copy_failed = 1;
    return true;
  }

  Value to_send(unsigned to) {
    return is(Defect::not_aside) ? read(me(), to) : contribution(me(), to, epoch());
  }
  bool all_have_started() const {
    bool all = true;
    for (unsigned other = 0; other < members(); ++other)
      if (other != me()) all = all && all_.memory.newest(places_.cts(me(), other)) >= epoch();
    return all;
  }
  void store_word(unsigned place, std::uint64_t value, const char* name,
                  Order order = Order::release) {
    hands_.store(place, order, static_cast<unsigned>(value), name);
  }
  void write(unsigned at, unsigned from, Value value) {
    if (!all_.memory.write_cell(hands_.thread, places_.block(at, from), value))
      hands_.fail("data race: a buffer is written while it is used");
  }
  Value read(unsigned at, unsigned from) {
    Value value = no_data;
    if (hands_.live() && !all_.memory.read_cell(hands_.thread, places_.block(at, from), &value))
      hands_.fail("data race: a buffer is read while it is written");
    return value;
  }

  const Scenario& scenario_;
  const Places places_;
  State& all_;
  Replay& hands_;
  Actor& actor_;
  bool copied_ = false;
};

static_assert(protocol::delivery::Port<Port>);

}  // namespace penstock::explorer::deliveries
