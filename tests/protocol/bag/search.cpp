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
enum class At : std::uint8_t { wait, ask, use, release, close, finished, dead };

struct Actor {
  At at = At::wait;
  std::uint8_t done = 0;                                   // messages
  std::uint8_t fails_from = 0;                             // as GroupSearch sets it for who dies
  std::uint8_t has_left = 0;                               // its program has its memory back
  std::uint8_t holds = 0;                                  // messages that a grabber has
  std::array<std::uint8_t, 2> source{}, number{}, slot{};  // which
  // Bit n: message n of the source has been grabbed; has gone into memory that is in new use.
  std::array<std::uint8_t, most_sources> got{}, strayed{};
  std::array<std::uint8_t, most_slots> last{};  // of a source: the message in each slot
  Log log;
};

struct State {
  Memory memory;
  std::array<Actor, max_threads> actors{};
};

struct Places {
  unsigned sources, slots;
  unsigned head(Source source) const { return source; }
  unsigned claimed(Source source) const { return sources + source; }
  unsigned released(Source source, Slot slot) const { return 2 * sources + source * slots + slot; }
  unsigned entry(Source source, Number number) const {
    return released(sources, 0) + source * slots + bag::place_of(number, slots);
  }
  unsigned closed(bool at_receiver, Source source) const {
    return released(sources, 0) + sources * slots + 2 * source + (at_receiver ? 1 : 0);
  }
  unsigned dead(unsigned thread) const { return closed(false, sources) + thread; }
  unsigned words() const { return dead(max_threads); }
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
        places_{scenario.sources, scenario.slots},
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
    if (!hands_.live()) return;
    Actor& receiver = all_.actors[scenario_.sources];
    if (receiver.has_left != 0)
      receiver.strayed[me()] |= static_cast<std::uint8_t>(1u << number);
    else
      write_cell(places_.cell(me(), slot), contents(me(), number));
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
  template <Order order>
  void fence() {
    if (scenario_.may_fail == 0 || is(Defect::head_relaxed)) return;
    if (is(puts_ ? Defect::no_fence : Defect::closed_unfenced)) return;
    hands_.fence(order);
  }

  At call() {
    switch (actor_.at) {
      case At::wait:
        return puts_ ? put() : grab();
      case At::ask:
        return ask();
      case At::use:
        return use();
      case At::release:
        return release();
      default:
        return close();
    }
  }

 private:
  Source me() const { return hands_.thread; }

  At put() {
    const Number number = actor_.done + 1u;
    if (bag::put(*this, number) == Progress::pending) return At::wait;
    if ((all_.actors[scenario_.sources].strayed[me()] >> number & 1) != 0)
      hands_.fail("a message in memory in new use is taken for put");
    return ++actor_.done < scenario_.messages ? At::wait : At::finished;
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
    return actor_.done < quota() ? At::wait : At::finished;
  }

  // As a wait that has found nothing for some time.
  At ask() {
    if (load_closed<Order::acquire>() == 0) return At::wait;
    const At next = puts_ ? put() : grab();
    if (next != At::wait) return next;
    if (!puts_ && has_been_put()) hands_.fail("what was put before its source closed is missed");
    return At::close;
  }
  bool has_been_put() const {
    for (Source source = 0; source < scenario_.sources; ++source)
      for (unsigned number = 1; number <= all_.actors[source].done; ++number)
        if ((actor_.got[source] >> number & 1) == 0) return true;
    return false;
  }
  At close() {
    for (Source source = 0; source < scenario_.sources; ++source)
      if (!puts_ || source == me())
        hands_.store(places_.closed(puts_, source), Order::release, 1, "CLOSED");
    fence<Order::seq_cst>();
    actor_.has_left = 1;
    return At::finished;
  }

  unsigned threads() const { return scenario_.sources + scenario_.grabbers; }
  unsigned quota() const { return scenario_.sources * scenario_.messages / scenario_.grabbers; }
  bool is(Defect defect) const { return scenario_.defect == defect; }
  std::uint64_t closed_by(unsigned thread, Source source, Order order) {
    std::uint64_t closed = 0;
    if ((scenario_.may_die >> thread & 1) != 0)
      closed |= hands_.load(places_.dead(thread), Order::acquire, "whether dead");
    if (scenario_.may_fail != 0)
      closed |= hands_.load(places_.closed(!puts_, source), order, "CLOSED");
    return closed;
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
      : scenario_(scenario), places_{scenario.sources, scenario.slots} {}

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
  }
  At call(State& state, Replay& hands) const { return End(scenario_, state, hands).call(); }
  static void release(Actor& actor) { actor.at = At::close; }

 private:
  const Scenario& scenario_;
  const Places places_;
};

}  // namespace

GroupResult explore(const Scenario& scenario) {
  return GroupSearch(World(scenario)).run();
}

}  // namespace penstock::explorer::bags
