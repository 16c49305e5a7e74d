// SPDX-License-Identifier: Apache-2.0
// The one place where src/protocol/segment.hpp is compiled for the explorer.
#include "protocol/group_search.hpp"
#include "protocol/model/replay.hpp"
#include "protocol/segment.hpp"
#include "protocol/segment/world.hpp"

namespace penstock::explorer::segments {

namespace {

namespace segment = protocol::segment;
using protocol::Epoch;
using protocol::Progress;
using segment::Unit;
using segment::UnitWord;

// What a thread does next. An end runs all its ranges, then waits for all of them, in each message.
enum class At : std::uint8_t { run, wait, ask, use, close, leave, finished, dead };

struct Actor {
  At at = At::run;
  std::uint8_t done = 0;        // messages
  std::uint8_t range = 0;       // the present one
  std::uint8_t fails_from = 0;  // as GroupSearch sets it for who dies
  std::uint8_t has_left = 0;    // its program has its buffer back
  std::uint8_t unused = 0;
  std::array<std::uint8_t, most_units> put{}, sent{}, taken{};
  Log log;
};

struct State {
  Memory memory;
  std::array<Actor, max_threads> actors{};
};

struct Places {
  unsigned units;
  unsigned arrived(Unit unit) const { return unit; }
  unsigned released(Unit unit) const { return units + unit; }
  unsigned closed(bool at_receiver, unsigned sender) const {
    return 2 * units + 2 * sender + (at_receiver ? 1 : 0);
  }
  unsigned dead(unsigned thread) const { return 2 * units + 4 + thread; }
  unsigned writing() const { return dead(max_threads); }
  unsigned words() const { return writing() + 1; }
};

constexpr Value poison = 31;
Value contents(Unit unit, Epoch message) {
  return static_cast<Value>(1 + 4 * message + unit);
}

class End {
 public:
  End(const Scenario& scenario, State& state, Replay& hands)
      : scenario_(scenario),
        all_(state),
        hands_(hands),
        places_{scenario.units},
        actor_(state.actors[hands.thread]),
        sends_(hands.thread < scenario.senders) {}

  // ---- The port
  template <Order order>
  Epoch load(UnitWord word, Unit unit) {
    const bool arrived = word == UnitWord::arrived;
    if (!arrived && is(Defect::put_unasked)) return protocol::no_more;
    const bool relaxed =
        is(arrived ? Defect::arrived_asked_relaxed : Defect::released_asked_relaxed);
    const Value value =
        hands_.load(arrived ? places_.arrived(unit) : places_.released(unit),
                    relaxed ? Order::relaxed : order, arrived ? "ARRIVED" : "RELEASED");
    return arrived && is(Defect::arrived_of_before) && value != 0 ? protocol::no_more : value;
  }
  template <Order order>
  void store(UnitWord word, Unit unit, Epoch epoch) {
    if (word == UnitWord::arrived && is(Defect::arrived_first)) return;
    if (word == UnitWord::released && is(Defect::released_early)) return;
    store_word<order>(word, unit, epoch);
  }
  bool write(Unit unit) {
    if (is(Defect::arrived_first))
      store_word<Order::release>(UnitWord::arrived, unit, actor_.put[unit]);
    // What it stands for takes time: others may do something before.
    if (scenario_.may_fail != 0) hands_.choose(1, "to write now");
    if (!hands_.live()) return true;
    if (all_.actors[scenario_.senders].has_left != 0)
      hands_.fail("a buffer is written that is its program's again");
    write_cell(unit, contents(unit, actor_.put[unit]));
    return true;
  }
  void begin_writing() {
    add_to_writing(Order::relaxed, 1);
    fence<Order::seq_cst>();
  }
  template <Order order>
  void end_writing() {
    add_to_writing(is(Defect::written_relaxed) ? Order::relaxed : order, -1);
  }
  template <Order order>
  std::uint64_t load_writing() {
    if (is(Defect::left_at_once)) return 0;
    // A dead one writes nothing any more.
    for (unsigned sender = 0; sender < scenario_.senders; ++sender)
      if ((scenario_.may_die >> sender & 1) != 0 &&
          hands_.load(places_.dead(sender), Order::acquire, "whether dead") != 0)
        return 0;
    return hands_.load(places_.writing(),
                       is(Defect::writing_asked_relaxed) ? Order::relaxed : order, "WRITING");
  }
  template <Order order>
  std::uint64_t load_closed() {
    if (is(Defect::closed_unread) && sends_) return 0;
    std::uint64_t closed = 0;
    for (unsigned sender = 0; sender < scenario_.senders; ++sender) {
      if (sends_ && sender != hands_.thread) continue;
      const unsigned other = sends_ ? scenario_.senders : sender;
      if ((scenario_.may_die >> other & 1) != 0)
        closed |= hands_.load(places_.dead(other), Order::acquire, "whether dead");
      if (scenario_.may_fail != 0)
        closed |= hands_.load(places_.closed(!sends_, sender),
                              is(Defect::closed_asked_relaxed) && !sends_ ? Order::relaxed : order,
                              "CLOSED");
    }
    return closed;
  }
  template <Order order>
  void store_closed() {
    for (unsigned sender = 0; sender < scenario_.senders; ++sender)
      if (!sends_ || sender == hands_.thread)
        hands_.store(places_.closed(sends_, sender), order, 1, "CLOSED");
  }
  template <Order order>
  void fence() {
    if (scenario_.may_fail == 0) return;
    if (is(sends_ ? Defect::unfenced : Defect::closed_unfenced)) return;
    hands_.fence(order);
  }

  At call() {
    switch (actor_.at) {
      case At::run:
        return sends_ ? put_range() : release_range();
      case At::wait:
        return poll();
      case At::ask:
        return ask();
      case At::use:
        return use_range();
      case At::close:
        segment::close(*this);
        return sends_ ? At::finished : At::leave;
      default:
        return leave();
    }
  }

 private:
  struct Range {
    Unit first, end;
  };

  Cut cut() const {
    if (!sends_) return scenario_.taken;
    if (scenario_.senders == 1) return scenario_.sent;
    return hands_.thread == 0 ? Cut{scenario_.units - 1} : Cut{1};
  }
  Range range() const {
    const Cut all = cut();
    Unit first = sends_ && hands_.thread == 1 ? scenario_.units - 1 : 0;
    for (unsigned at = 0; at < actor_.range; ++at) first += all[at];
    return {first, first + all[actor_.range]};
  }
  // The next range goes on with `more`; behind the last one comes `then`.
  At next_range(At more, At then) {
    actor_.range = static_cast<std::uint8_t>((actor_.range + 1u) % cut().size());
    return actor_.range == 0 ? then : more;
  }
  At end_message() { return ++actor_.done < scenario_.messages ? At::run : At::finished; }

  // ---- The sender: puts, then put_waits.
  At put_range() {
    const Range now = range();
    segment::Writing<End> writing(*this);
    for (Unit unit = now.first; unit < now.end; ++unit)
      with_put(unit, [&](segment::PutState& state) {
        actor_.put[unit] = static_cast<std::uint8_t>(state.sent + 1);
        segment::put(writing, unit, state);
      });
    return next_range(At::run, At::wait);
  }
  template <class Body>
  void with_put(Unit unit, Body body) {
    segment::PutState state{actor_.put[unit], actor_.sent[unit]};
    body(state);
    actor_.put[unit] = static_cast<std::uint8_t>(state.put);
    actor_.sent[unit] = static_cast<std::uint8_t>(state.sent);
  }

  // ---- The receiver: waits and uses of its ranges, then releases, the last one first.
  At use_range() {
    const Range now = range();
    for (Unit unit = now.first; unit < now.end; ++unit) {
      if (!hands_.live()) continue;
      if (read_cell(unit) != contents(unit, actor_.taken[unit]))
        hands_.fail("what has come is not this message");
      if (is(Defect::released_early) && !all_.memory.store(hands_.thread, places_.released(unit),
                                                           Order::release, actor_.taken[unit]))
        hands_.fail("two stores without an order");
    }
    return next_range(At::wait, At::run);
  }
  At release_range() {
    // Before the first message nothing is to be released, and a program begins with its waits.
    if (actor_.taken[0] != actor_.done) {
      const Range now = range();
      for (Unit unit = now.end; unit-- > now.first;) {
        if (hands_.live()) write_cell(unit, poison);
        segment::release(*this, unit, segment::TakeState{actor_.taken[unit]});
      }
      const At next = next_range(At::run, At::finished);
      return next == At::run ? next : end_message();
    }
    return At::wait;
  }

  At poll() { return sends_ ? poll_put() : poll_take(); }
  At poll_put() {
    const Range now = range();
    bool all = true;
    segment::Writing<End> writing(*this);
    for (Unit unit = now.first; unit < now.end; ++unit)
      with_put(unit, [&](segment::PutState& state) {
        if (segment::put_wait(writing, unit, state) == Progress::pending) all = false;
      });
    if (!all) return At::wait;
    const At next = next_range(At::wait, At::finished);
    return next == At::wait ? next : end_message();
  }
  At poll_take() {
    const Range now = range();
    for (Unit unit = now.first; unit < now.end; ++unit) {
      if (is(Defect::first_unit_alone) && unit > now.first) continue;
      if (!segment::has_arrived(*this, unit, segment::TakeState{actor_.taken[unit]}))
        return At::wait;
    }
    for (Unit unit = now.first; unit < now.end; ++unit) {
      segment::TakeState state{actor_.taken[unit]};
      segment::take(state);
      actor_.taken[unit] = static_cast<std::uint8_t>(state.taken);
    }
    return At::use;
  }

  // The program uses its buffer behind that.
  At leave() {
    if (!segment::is_untouched(*this)) return At::leave;
    actor_.has_left = 1;
    for (Unit unit = 0; unit < scenario_.units; ++unit)
      if (hands_.live()) write_cell(unit, poison);
    return At::finished;
  }

  // As a wait that has found nothing for some time.
  At ask() {
    if (load_closed<Order::acquire>() == 0) return At::wait;
    const At next = poll();
    if (next != At::wait) return next;
    if (!sends_ && scenario_.senders == 1 && has_been_sent())
      hands_.fail("what was sent before its sender closed is missed");
    return At::close;
  }
  bool has_been_sent() const {
    const Range now = range();
    for (Unit unit = now.first; unit < now.end; ++unit)
      if (all_.actors[0].sent[unit] <= actor_.taken[unit]) return false;
    return true;
  }

  void add_to_writing(Order order, int count) {
    if (scenario_.may_fail == 0 || is(Defect::writing_unmarked)) return;
    hands_.modify(
        places_.writing(), order, [&](Value before) { return before + count; }, "WRITING");
  }
  bool is(Defect defect) const { return scenario_.defect == defect; }
  template <Order order>
  void store_word(UnitWord word, Unit unit, Epoch epoch) {
    const bool arrived = word == UnitWord::arrived;
    const bool relaxed = is(arrived ? Defect::arrived_relaxed : Defect::released_relaxed);
    hands_.store(arrived ? places_.arrived(unit) : places_.released(unit),
                 relaxed ? Order::relaxed : order, static_cast<unsigned>(epoch),
                 arrived ? "ARRIVED" : "RELEASED");
  }
  void write_cell(Unit unit, Value value) {
    if (!all_.memory.write_cell(hands_.thread, unit, value)) hands_.fail("data race");
  }
  Value read_cell(Unit unit) {
    Value value = 0;
    if (!all_.memory.read_cell(hands_.thread, unit, &value)) hands_.fail("data race");
    return value;
  }

  const Scenario& scenario_;
  State& all_;
  Replay& hands_;
  const Places places_;
  Actor& actor_;
  const bool sends_;
};

class World {
 public:
  using State = segments::State;
  using Actor = segments::Actor;
  using At = segments::At;

  explicit World(const Scenario& scenario) : scenario_(scenario), places_{scenario.units} {}

  unsigned threads() const { return scenario_.senders + 1; }
  static unsigned member_of(unsigned thread) { return thread; }
  unsigned dead(unsigned member) const { return places_.dead(member); }
  unsigned may_fail() const { return scenario_.may_fail; }
  unsigned may_die() const { return scenario_.may_die; }
  bool may_be_hopeless() const { return (may_fail() | may_die()) != 0; }

  Shape shape() const {
    Shape shape;
    shape.threads = threads();
    shape.cells = scenario_.units;
    shape.locations = places_.words();
    shape.fences = true;
    shape.readers.fill(static_cast<std::uint8_t>((1u << threads()) - 1));
    return shape;
  }
  void prepare(State& state) const {
    for (Unit unit = 0; unit < scenario_.units; ++unit) state.memory.preset_cell(unit, poison);
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

}  // namespace penstock::explorer::segments
