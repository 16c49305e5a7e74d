// SPDX-License-Identifier: Apache-2.0
// The one place where src/protocol/bag.hpp is compiled for the explorer.
#include "protocol/bag.hpp"
#include "protocol/bag/world.hpp"
#include "protocol/group_search.hpp"
#include "protocol/model/replay.hpp"

namespace penstock::explorer::bags {

namespace {

namespace bag = protocol::bag;
using bag::Number;
using bag::Slot;
using bag::Source;
using protocol::Progress;

// What a thread does next.
enum class At : std::uint8_t {
  wait,
  ask,
  use,
  release,
  give_up,
  part,
  close,
  leave,
  finished,
  dead
};

struct Actor {
  At at = At::wait;
  std::uint8_t done = 0;                                   // messages
  std::uint8_t fails_from = 0;                             // as GroupSearch sets it for who dies
  std::uint8_t has_left = 0;                               // its program has its memory back
  std::uint8_t holds = 0;                                  // messages that a grabber has
  std::uint8_t puts = 0;                                   // a source's
  std::array<std::uint8_t, 2> source{}, number{}, slot{};  // which
  // Bit n: message n of the source has been grabbed.
  std::array<std::uint8_t, most_sources> got{};
  std::array<std::uint8_t, most_slots> last{};  // of a source: the message in each slot
  Log log;
};

struct State {
  Memory memory;
  std::array<Actor, max_threads> actors{};
};

struct Places {
  unsigned sources, slots, threads;
  unsigned head(Source source) const { return source; }
  unsigned claimed(Source source) const { return sources + source; }
  unsigned released(Source source, Slot slot) const { return 2 * sources + source * slots + slot; }
  unsigned entry(Source source, Number number) const {
    return released(sources, 0) + source * slots + bag::place_of(number, slots);
  }
  unsigned closed(bool at_receiver, Source source) const {
    return released(sources, 0) + sources * slots + 2 * source + (at_receiver ? 1 : 0);
  }
  unsigned writing(Source source) const { return closed(false, sources) + source; }
  // Of the receiver's process alone: whether it has given the bag up, and the threads that have
  // ended.
  unsigned given_up() const { return writing(sources); }
  unsigned ended() const { return given_up() + 1; }
  unsigned dead(unsigned thread) const { return given_up() + 2 + thread; }
  unsigned words() const { return dead(threads); }
  unsigned cell(Source source, Slot slot) const { return source * slots + slot; }
};

constexpr Value poison = 31;
Value contents(Source source, Number number) {
  return static_cast<Value>(1 + 8 * source + number);
}

class End {
 public:
  End(const Scenario& scenario, State& state, Replay& hands)
      : scenario_(scenario),
        all_(state),
        hands_(hands),
        places_{scenario.sources, scenario.slots, scenario.sources + scenario.grabbers},
        actor_(state.actors[hands.thread]),
        puts_(hands.thread < scenario.sources) {}

  // ---- A source's port
  Slot slots() const { return scenario_.slots; }
  template <Order order>
  Slot free_slot() {
    const Slot first = actor_.done % scenario_.slots;
    if (is(Defect::put_unasked)) return first;
    for (Slot i = 0; i < scenario_.slots; ++i) {
      const Slot slot = (first + i) % scenario_.slots;
      const Value released =
          hands_.load(places_.released(me(), slot),
                      is(Defect::released_asked_relaxed) ? Order::relaxed : order, "RELEASED");
      const Slot of = is(Defect::released_of_any) ? (slot + 1) % scenario_.slots : slot;
      if (released == actor_.last[slot]) return of;
    }
    return scenario_.slots;
  }
  template <Order order>
  void store_entry(Number number, Slot slot) {
    if (!is(Defect::entry_late)) put_entry<order>(number, slot);
  }
  template <Order order>
  void store_head(Number number) {
    if (!is(Defect::head_first)) put_head<order>(number);
    if (is(Defect::entry_late)) put_entry<Order::relaxed>(number, filled_);
  }
  void fill(Slot slot) {
    const Number number = actor_.done + 1u;
    if (is(Defect::head_first)) put_head<Order::release>(number);
    actor_.last[slot] = static_cast<std::uint8_t>(number);
    filled_ = slot;
    // It takes time: others may do something before.
    if (closes()) hands_.choose(1, "to write now");
    if (!hands_.live()) return;
    if (receiver_has_left()) hands_.fail("a slot is written that is its program's again");
    write_cell(places_.cell(me(), slot), contents(me(), number));
  }
  void begin_writing() {
    if (!closes() || is(Defect::writing_unmarked)) return;
    hands_.store(places_.writing(me()), Order::relaxed, 1, "WRITING");
    if (!is(Defect::unfenced)) hands_.fence(Order::seq_cst);
  }
  template <Order order>
  void end_writing() {
    if (!closes() || is(Defect::writing_unmarked)) return;
    hands_.store(places_.writing(me()), is(Defect::written_relaxed) ? Order::relaxed : order, 0,
                 "WRITING");
  }

  // ---- The receiver's
  using Entry = Slot;
  Source sources() const { return scenario_.sources; }
  template <Order order>
  Number load_head(Source source) {
    if (is(Defect::claimed_unseen)) return protocol::no_more;
    return hands_.load(places_.head(source),
                       is(Defect::head_asked_relaxed) ? Order::relaxed : order, "HEAD");
  }
  template <Order order>
  Entry load_entry(Source source, Number number) {
    if (is(Defect::entry_unread)) return bag::place_of(number, scenario_.slots);
    return hands_.load(places_.entry(source, number), order, "ENTRY");
  }
  template <Order order>
  Number load_claimed(Source source) {
    return hands_.load(places_.claimed(source), order, "CLAIMED");
  }
  bool claim(Source source, Number& number) {
    const Number expected = number;
    const bool by_store = is(Defect::claimed_by_a_store);
    const auto change = [&](Value before) {
      return static_cast<Value>(by_store || before == expected ? expected + 1 : before);
    };
    number = hands_.modify(places_.claimed(source), Order::relaxed, change, "CLAIMED");
    if (by_store) number = expected;
    if (is(Defect::entry_behind) && number == expected)
      read_behind_ = hands_.load(places_.entry(source, expected + 1), Order::relaxed, "ENTRY");
    return number == expected;
  }
  // Any source may be the one behind the last.
  template <Order>
  Source load_next() {
    return scenario_.sources == 1 ? 0 : hands_.choose(scenario_.sources, "NEXT");
  }
  template <Order>
  void store_next(Source) {}
  template <Order order>
  void store_released(Source source, Slot slot, Number number) {
    if (is(Defect::released_early)) return;
    hands_.store(places_.released(source, slot),
                 is(Defect::released_relaxed) ? Order::relaxed : order,
                 static_cast<unsigned>(number), "RELEASED");
  }

  template <Order order>
  void store_closed(Source source) {
    hands_.exchange(places_.closed(false, source), order, 1, "CLOSED");
  }
  template <Order order>
  std::uint64_t load_writing(Source source) {
    if (is(Defect::left_at_once)) return 0;
    // A dead one writes nothing any more.
    if (is_dead(source)) return 0;
    return hands_.load(places_.writing(source),
                       is(Defect::writing_asked_relaxed) ? Order::relaxed : order, "WRITING");
  }
  template <Order order>
  void fence() {
    if (!is(Defect::closed_unfenced)) hands_.fence(order);
  }

  // ---- Both ends'
  template <Order order>
  std::uint64_t load_closed() {
    if (puts_) return is(Defect::closed_unread) ? 0 : closed_by(scenario_.sources, me(), order);
    // A grab goes on while one source may still put.
    std::uint64_t closed = 1;
    for (Source source = 0; source < scenario_.sources; ++source)
      closed &=
          closed_by(source, source, is(Defect::closed_asked_relaxed) ? Order::relaxed : order);
    return closed;
  }

  At call() {
    switch (actor_.at) {
      case At::wait:
        return puts_ ? put() : wait_for_message();
      case At::ask:
        return ask();
      case At::use:
        return use();
      case At::release:
        return release();
      case At::give_up:
        return give_up();
      case At::part:
        return part();
      case At::close:
        return close();
      default:
        return leave();
    }
  }

 private:
  Source me() const { return hands_.thread; }

  At put() {
    const Number number = actor_.done + 1u;
    if (bag::put(*this, number) == Progress::pending) return At::wait;
    return ++actor_.done < scenario_.messages ? At::wait : end();
  }
  // Where a thread has done all that it does.
  At end() const {
    if (!closes()) return At::finished;
    return puts_ ? At::close : At::part;
  }

  At wait_for_message() {
    if (is_given_up()) return At::part;
    return grab();
  }
  At grab() {
    bag::Taken<Slot> taken;
    if (!bag::grab(*this, taken)) return At::wait;
    const auto bit = static_cast<std::uint8_t>(1u << taken.number);
    for (unsigned thread = scenario_.sources; thread < threads(); ++thread)
      if ((all_.actors[thread].got[taken.source] & bit) != 0)
        hands_.fail("a message is grabbed twice");
    if (actor_.got[taken.source] > bit) hands_.fail("a message is grabbed out of its order");
    actor_.got[taken.source] |= bit;
    actor_.source[actor_.holds] = static_cast<std::uint8_t>(taken.source);
    actor_.number[actor_.holds] = static_cast<std::uint8_t>(taken.number);
    actor_.slot[actor_.holds] =
        static_cast<std::uint8_t>(is(Defect::entry_behind) ? read_behind_ : taken.entry);
    return ++actor_.holds < scenario_.held ? At::wait : At::use;
  }
  At use() {
    if (is(Defect::dropped) && (is_given_up() || load_closed<Order::acquire>() != 0)) {
      hands_.fail("a message that was grabbed is lost");
      return At::part;
    }
    for (unsigned i = 0; i < actor_.holds; ++i) {
      const Source source = actor_.source[i];
      const Number number = actor_.number[i];
      const Slot slot = actor_.slot[i];
      if (!hands_.live()) continue;
      if (is(Defect::released_early) &&
          !all_.memory.store(hands_.thread, places_.released(source, slot), Order::release,
                             static_cast<Value>(number)))
        hands_.fail("two stores without an order");
      if (read_cell(places_.cell(source, slot)) != contents(source, number))
        hands_.fail("what is grabbed is not this message");
    }
    return At::release;
  }
  At release() {
    const unsigned last = actor_.holds - 1u;
    const Source source = actor_.source[last];
    const Slot slot = actor_.slot[last];
    if (hands_.live() && !is(Defect::released_early))
      write_cell(places_.cell(source, slot), poison);
    bag::release(*this, source, slot, actor_.number[last]);
    ++actor_.done;
    if (--actor_.holds > 0) return At::release;
    return actor_.done < quota() ? At::wait : end();
  }

  // As a wait that has found nothing for some time.
  At ask() {
    if (!puts_ && is_given_up()) return At::part;
    if (load_closed<Order::acquire>() == 0) return At::wait;
    if (puts_) {
      const At next = put();
      return next == At::wait ? At::close : next;
    }
    if (!is(Defect::asked_once)) {
      const At next = grab();
      if (next != At::wait) return next;
    }
    if (has_been_put()) hands_.fail("what was put before its source closed is missed");
    return At::give_up;
  }
  bool has_been_put() const {
    for (Source source = 0; source < scenario_.sources; ++source) {
      unsigned got = 0;
      for (unsigned thread = scenario_.sources; thread < threads(); ++thread)
        got |= all_.actors[thread].got[source];
      for (unsigned number = 1; number <= all_.actors[source].done; ++number)
        if ((got >> number & 1) == 0) return true;
    }
    return false;
  }

  // The other threads hear of it, and all sources.
  At give_up() {
    if (several()) hands_.exchange(places_.given_up(), Order::release, 1, "given up");
    bag::close(*this);
    return At::part;
  }
  // The last thread to end frees the bag, behind what all have used.
  At part() {
    if (!several()) return At::close;
    const bool relaxed = is(Defect::counted_relaxed);
    const Value before = hands_.modify(
        places_.ended(), relaxed ? Order::relaxed : Order::acq_rel,
        [](Value ended) { return ended + 1; }, "how many have ended");
    return before + 1u == scenario_.grabbers || is(Defect::left_alone) ? At::close : At::finished;
  }
  At close() {
    if (puts_) {
      hands_.store(places_.closed(true, me()), Order::release, 1, "CLOSED");
      return At::finished;
    }
    bag::close(*this);
    return At::leave;
  }
  // The program uses its slots behind that.
  At leave() {
    if (!bag::is_untouched(*this)) return At::leave;
    actor_.has_left = 1;
    for (unsigned cell = 0; cell < scenario_.sources * scenario_.slots; ++cell)
      if (hands_.live()) write_cell(cell, poison);
    return At::finished;
  }

  unsigned threads() const { return scenario_.sources + scenario_.grabbers; }
  unsigned quota() const { return scenario_.sources * scenario_.messages / scenario_.grabbers; }
  bool is(Defect defect) const { return scenario_.defect == defect; }
  bool closes() const { return (scenario_.may_fail | scenario_.may_die) != 0; }
  bool several() const { return scenario_.grabbers > 1; }
  bool is_given_up() {
    return closes() && several() &&
           hands_.load(places_.given_up(), Order::acquire, "given up") != 0;
  }
  bool receiver_has_left() const {
    bool left = false;
    for (unsigned thread = scenario_.sources; thread < threads(); ++thread)
      left = left || all_.actors[thread].has_left != 0;
    return left;
  }
  bool is_dead(unsigned thread) {
    return (scenario_.may_die >> thread & 1) != 0 &&
           hands_.load(places_.dead(thread), Order::acquire, "whether dead") != 0;
  }
  std::uint64_t closed_by(unsigned thread, Source source, Order order) {
    if (is_dead(thread)) return 1;
    return closes() ? hands_.load(places_.closed(!puts_, source), order, "CLOSED") : 0;
  }
  template <Order order>
  void put_entry(Number number, Slot slot) {
    hands_.store(places_.entry(me(), number), order, slot, "ENTRY");
  }
  template <Order order>
  void put_head(Number number) {
    hands_.store(places_.head(me()), is(Defect::head_relaxed) ? Order::relaxed : order,
                 static_cast<unsigned>(number), "HEAD");
  }
  void write_cell(unsigned cell, Value value) {
    if (!all_.memory.write_cell(hands_.thread, cell, value)) hands_.fail("data race");
  }
  Value read_cell(unsigned cell) {
    Value value = 0;
    if (!all_.memory.read_cell(hands_.thread, cell, &value)) hands_.fail("data race");
    return value;
  }

  const Scenario& scenario_;
  State& all_;
  Replay& hands_;
  const Places places_;
  Actor& actor_;
  const bool puts_;
  Slot filled_ = 0, read_behind_ = 0;
};

class World {
 public:
  using State = bags::State;
  using Actor = bags::Actor;
  using At = bags::At;

  explicit World(const Scenario& scenario)
      : scenario_(scenario),
        places_{scenario.sources, scenario.slots, scenario.sources + scenario.grabbers} {}

  unsigned threads() const { return scenario_.sources + scenario_.grabbers; }
  static unsigned member_of(unsigned thread) { return thread; }
  unsigned dead(unsigned member) const { return places_.dead(member); }
  unsigned may_fail() const { return scenario_.may_fail; }
  unsigned may_die() const { return scenario_.may_die; }
  bool may_be_hopeless() const { return (may_fail() | may_die()) != 0; }

  Shape shape() const {
    Shape shape;
    shape.threads = threads();
    shape.cells = scenario_.sources * scenario_.slots;
    shape.locations = places_.words();
    shape.fences = true;
    shape.readers.fill(static_cast<std::uint8_t>((1u << threads()) - 1));
    return shape;
  }
  void prepare(State& state) const {
    for (unsigned cell = 0; cell < scenario_.sources * scenario_.slots; ++cell)
      state.memory.preset_cell(cell, poison);
    for (Source source = 0; source < scenario_.sources; ++source) state.actors[source].puts = 1;
  }
  At call(State& state, Replay& hands) const { return End(scenario_, state, hands).call(); }
  static void release(Actor& actor) { actor.at = actor.puts != 0 ? At::close : At::give_up; }

 private:
  const Scenario& scenario_;
  const Places places_;
};

}  // namespace

GroupResult explore(const Scenario& scenario) {
  return GroupSearch(World(scenario)).run();
}

}  // namespace penstock::explorer::bags
