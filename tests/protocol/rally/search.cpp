// SPDX-License-Identifier: Apache-2.0
// The direct exchange as GroupSearch sees it.
#include "protocol/group_search.hpp"
#include "protocol/rally/member.hpp"

namespace penstock::explorer::rallies {

namespace {

class World {
 public:
  using State = rallies::State;
  using Actor = rallies::Actor;
  using At = rallies::At;

  explicit World(const Scenario& scenario) : scenario_(scenario), places_(scenario) {}

  unsigned threads() const { return scenario_.members * scenario_.blocks; }
  unsigned member_of(unsigned thread) const { return thread / scenario_.blocks; }
  unsigned dead(unsigned member) const { return places_.dead(member); }
  unsigned may_fail() const { return scenario_.may_fail; }
  unsigned may_die() const { return scenario_.may_die; }
  bool may_be_hopeless() const { return (may_fail() | may_die()) != 0; }

  Shape shape() const {
    Shape shape;
    shape.threads = threads();
    shape.cells = scenario_.form == Form::lines ? places_.cells() : 0;
    shape.locations = places_.words();
    if (shape.locations <= max_locations) set_readers(shape);
    return shape;
  }
  void prepare(State& state) const {
    const unsigned cells = scenario_.form == Form::lines ? places_.cells() : 0;
    for (unsigned cell = 0; cell < cells; ++cell) state.memory.preset_cell(cell, no_data);
  }
  At call(State& state, Replay& hands) const { return call_member(scenario_, state, hands); }
  void release(Actor& actor) const { rallies::release(scenario_, actor); }

 private:
  void set_readers(Shape& shape) const {
    const unsigned all = (1u << threads()) - 1;
    shape.readers.fill(static_cast<std::uint8_t>(all));
    for (unsigned at = 0; at < scenario_.members; ++at) {
      const unsigned blocks = ((1u << scenario_.blocks) - 1) << at * scenario_.blocks;
      const auto readers = static_cast<std::uint8_t>(blocks);
      for (unsigned from = 0; from < scenario_.members; ++from) {
        if (from == at) continue;
        for (unsigned flight = 0; flight < scenario_.flights; ++flight)
          for (unsigned i = 0; i < 2 * places_.lines(); ++i)
            shape.readers[places_.line(flight, at, from, 0, i)] = readers;
        if (scenario_.closes) shape.readers[places_.closed(at, from)] = readers;
      }
      if (scenario_.blocks > 1) shape.exchange_only[places_.ended(at)] = true;
    }
  }

  const Scenario& scenario_;
  const Places places_;
};

}  // namespace

GroupResult explore(const Scenario& scenario) {
  return GroupSearch(World(scenario)).run();
}

}  // namespace penstock::explorer::rallies
