// SPDX-License-Identifier: Apache-2.0
// The one place where src/protocol/delivery.hpp is compiled for the explorer.
#include "protocol/delivery/port.hpp"
#include "protocol/group_search.hpp"

namespace penstock::explorer::deliveries {

namespace {

namespace delivery = protocol::delivery;
using protocol::Progress;
using protocol::StartOutcome;

class Member {
 public:
  Member(const Scenario& scenario, State& state, Replay& hands)
      : scenario_(scenario),
        all_(state),
        hands_(hands),
        actor_(state.actors[hands.thread]),
        port_(scenario, state, hands),
        state_{actor_.done} {}

  At call() {
    const At next = call_now();
    actor_.done = static_cast<std::uint8_t>(state_.done);
    return next;
  }

 private:
  At call_now() {
    switch (actor_.at) {
      case At::start:
        return start();
      case At::wait:
        return wait();
      case At::ask:
        return ask();
      case At::close:
        delivery::close(port_, state_);
        actor_.has_left = 1;
        return At::leave;
      default:
        return leave();
    }
  }

  At start() {
    if ((scenario_.may_be_freed >> port_.me() & 1) != 0 &&
        hands_.choose(2, "whether it is freed") == 1) {
      actor_.fails_from = static_cast<std::uint8_t>(port_.epoch());
      return At::close;
    }
    port_.fill_buffer();
    if (delivery::start(port_, state_) == StartOutcome::started) return At::wait;
    actor_.fails_from = static_cast<std::uint8_t>(port_.epoch());
    return At::close;
  }

  // A plan whose copy has failed gives up.
  At wait() {
    if (delivery::wait(port_, state_) == Progress::ended) return end_epoch();
    return port_.copy_failed() ? give_up() : At::wait;
  }

  At give_up() {
    actor_.fails_from = static_cast<std::uint8_t>(port_.epoch() + 1);
    return At::close;
  }

  // The state has counted the epoch, the actor has not.
  At end_epoch() {
    port_.check_buffer();
    for (unsigned other = 0; other < scenario_.members; ++other) {
      const Actor& its = all_.actors[other];
      if (delivery::meets(port_, other) && protocol::closed_before(its.fails_from, state_.done))
        hands_.fail("an epoch ends though a member has failed before");
      if ((its.strayed_by >> port_.me() & 1) != 0)
        hands_.fail("a block in a buffer in new use is taken for delivered");
    }
    return state_.done < scenario_.epochs ? At::start : At::close;
  }

  // As a wait of the host's that has found nothing for some time.
  At ask() {
    if (!delivery::is_hopeless(port_, port_.epoch())) return At::wait;
    if (delivery::wait(port_, state_) == Progress::ended) return end_epoch();
    if (scenario_.members == 2 && port_.is_over())
      hands_.fail("what was sent before a member closed is missed");
    return give_up();
  }

  At leave() {
    if (scenario_.defect != Defect::reused_early && !delivery::all_closed(port_)) return At::leave;
    port_.reuse_words();
    return At::finished;
  }

  const Scenario& scenario_;
  State& all_;
  Replay& hands_;
  Actor& actor_;
  Port port_;
  delivery::State state_;
};

class World {
 public:
  using State = deliveries::State;
  using Actor = deliveries::Actor;
  using At = deliveries::At;

  explicit World(const Scenario& scenario) : scenario_(scenario), places_(scenario) {}

  unsigned threads() const { return scenario_.members; }
  static unsigned member_of(unsigned thread) { return thread; }
  unsigned dead(unsigned member) const { return places_.dead(member); }
  unsigned may_fail() const { return scenario_.may_fail; }
  unsigned may_die() const { return scenario_.may_die; }
  bool may_be_hopeless() const {
    return (scenario_.may_fail | scenario_.may_die | scenario_.may_fail_to_copy |
            scenario_.may_be_freed) != 0;
  }

  Shape shape() const {
    Shape shape;
    shape.threads = threads();
    shape.cells = places_.blocks();
    shape.locations = places_.words();
    shape.fences = true;
    shape.readers.fill(static_cast<std::uint8_t>((1u << threads()) - 1));
    for (unsigned at = 0; at < threads(); ++at)
      for (unsigned by = 0; by < threads(); ++by)
        if (at != by)
          for (const unsigned word :
               {places_.cts(at, by), places_.done(at, by), places_.closed(at, by)})
            shape.readers[word] = static_cast<std::uint8_t>(1u << at);
    return shape;
  }
  void prepare(State& state) const {
    for (unsigned cell = 0; cell < places_.blocks(); ++cell)
      state.memory.preset_cell(cell, no_data);
  }
  At call(State& state, Replay& hands) const { return Member(scenario_, state, hands).call(); }
  void release(Actor& actor) const {
    actor.fails_from = static_cast<std::uint8_t>(actor.done + 2);
    actor.at = At::close;
    if (scenario_.defect != Defect::goes_on) return;
    ++actor.done;
    actor.at = At::start;
  }

 private:
  const Scenario& scenario_;
  const Places places_;
};

}  // namespace

GroupResult explore(const Scenario& scenario) {
  return GroupSearch(World(scenario)).run();
}

}  // namespace penstock::explorer::deliveries
