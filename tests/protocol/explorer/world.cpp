// SPDX-License-Identifier: Apache-2.0
#include "protocol/explorer/world.hpp"

#include <algorithm>
#include <bit>

namespace penstock::explorer {

World::World(const Scenario& scenario, const std::vector<Machine>& machines, MakePort make_port)
    : specs_(scenario.pairs),
      machines_(machines),
      make_port_(make_port),
      epochs_(scenario.epochs),
      releases_(scenario.releases),
      buffer_may_fill_(scenario.buffer_may_fill) {
  std::array<std::uint8_t, max_endpoints> users{};
  unsigned events = 0;
  for (unsigned t = 0; t < scenario.threads.size(); ++t) {
    programs_.push_back(parse_program(scenario.threads[t].program));
    for (unsigned e : scenario.threads[t].any_order) any_order_[t] |= bit(e);
    owns_[t] = any_order_[t];
    for (const Call& call : programs_[t]) {
      if (call.kind == Call::Kind::start || call.kind == Call::Kind::close)
        owns_[t] |= bit(call.endpoint);
      if (call.kind == Call::Kind::wait) owns_[t] |= call.endpoints;
      if (call.kind == Call::Kind::record || call.kind == Call::Kind::await)
        events = std::max(events, call.number + 1u);
    }
    for (unsigned e = 0; e < max_endpoints; ++e)
      if (owns_[t] >> e & 1) users[e] |= bit(t);
  }
  shape_.threads = static_cast<unsigned>(programs_.size());
  for (unsigned p = 0; p < specs_.size(); ++p)
    places_.push_back(place_pair(specs_[p], shape_, users[endpoint_of(p, Side::sender)],
                                 users[endpoint_of(p, Side::receiver)]));
  shape_.mixed_fences = shape_.mixed_fences || (shape_.fences && scenario.relaxed_orders);
  for (const PairSpec& spec : specs_) may_close_ = may_close_ || spec.may_close;
  private_.fill(no_place);
  for (unsigned e = 0; e < max_endpoints; ++e)
    if (std::popcount(users[e]) > 1) private_[e] = static_cast<std::uint8_t>(shape_.cells++);
  for (unsigned i = 0; i < events; ++i) {
    shape_.readers[shape_.locations] = static_cast<std::uint8_t>((1u << shape_.threads) - 1);
    events_[i] = static_cast<std::uint8_t>(shape_.locations++);
  }
  if (shape_.locations > max_locations || shape_.cells > max_cells)
    throw std::logic_error("the scenario outgrows the model");
}

State World::initial() const {
  State state;
  state.memory = Memory(shape_);
  for (unsigned p = 0; p < specs_.size(); ++p) {
    // The buffers were set up before the threads began: every thread knows that.
    for (unsigned line = 0; line < specs_[p].lines; ++line)
      state.memory.preset_cell(places_[p].incoming[line], untouched);
  }
  for (unsigned t = 0; t < threads(); ++t) enter_call(state, t);
  state.memory.settle(static_cast<std::uint8_t>((1u << threads()) - 1));
  return state;
}

// What comes next in the program; calls for halves that have been given up do nothing.
void World::enter_call(State& state, unsigned index) const {
  const Program& program = programs_[index];
  Thread& thread = state.threads[index];
  for (; thread.at < program.size(); ++thread.at) {
    const Call& call = program[thread.at];
    if (call.kind == Call::Kind::wait) {
      for (unsigned e = 0; e < max_endpoints; ++e)
        if ((call.endpoints >> e & 1) && !state.endpoints[e].closed) thread.waiting |= bit(e);
      if (thread.waiting != 0) return;
    } else if ((call.kind != Call::Kind::start && call.kind != Call::Kind::close) ||
               !state.endpoints[call.endpoint].closed) {
      return;
    }
  }
}

void World::leave_call(State& state, unsigned index) const {
  if (any_order_[index] != 0) return;
  ++state.threads[index].at;
  enter_call(state, index);
}

bool World::finished(const State& state) const {
  for (unsigned t = 0; t < threads(); ++t)
    if (!finished(state, t)) return false;
  return true;
}

Effect World::apply(State& state, unsigned index, const Move& move, unsigned choice,
                    std::string* text) const {
  Thread& thread = state.threads[index];
  Effect effect;
  switch (move.kind) {
    case Move::Kind::start:
      thread.knows = knows_peer_closed(state, index, move.endpoint);
      effect = begin_call(state, index, Activity::start, move.endpoint, choice, text);
      break;
    case Move::Kind::ask:
      effect = begin_call(state, index, Activity::ask, move.endpoint, choice, text);
      break;
    case Move::Kind::release:
      ++state.releases;
      effect = begin_call(state, index, Activity::release, move.endpoint, choice, text);
      break;
    case Move::Kind::close:
      effect = begin_call(state, index, Activity::close, move.endpoint, choice, text);
      break;
    case Move::Kind::wait:
      thread.waiting = move.mask;
      [[fallthrough]];
    case Move::Kind::poll:
      thread.waiting |= bit(move.endpoint);
      effect = begin_call(state, index, Activity::wait, move.endpoint, choice, text);
      break;
    case Move::Kind::resume:
      effect = run_call(state, index, choice, text);
      break;
    case Move::Kind::record:
      if (!record(state, index, move.endpoint)) effect.fault = "two unordered records of one event";
      leave_call(state, index);
      break;
    case Move::Kind::await:
      state.memory.load(index, events_[move.endpoint], Order::acquire, 0);
      leave_call(state, index);
      break;
    case Move::Kind::zero:
      effect.fault = zero(state, index, move.endpoint);
      [[fallthrough]];
    case Move::Kind::renew:
      if (!renew(state, index, move.endpoint))
        effect.fault = "a buffer was taken back while the peer may still use it";
      leave_call(state, index);
      break;
  }
  std::uint8_t running = 0;
  for (unsigned t = 0; t < threads(); ++t)
    if (!finished(state, t)) running |= bit(t);
  if (state.memory.overflow()) effect.fault = "the model's message lists are too short";
  state.memory.settle(running);
  return effect;
}

bool World::record(State& state, unsigned index, unsigned event) const {
  const Value count = state.memory.newest(events_[event]);
  return state.memory.store(index, events_[event], Order::release, static_cast<Value>(count + 1));
}

const char* World::zero(State& state, unsigned index, unsigned p) const {
  const PairSpec& spec = specs_[p];
  const PairPlaces& places = places_[p];
  bool ordered = true;
  // What peer/holding.cpp waits for.
  if (spec.may_close) state.memory.load(index, closed_by_peer(owned(index, p)), Order::acquire, 0);
  for (std::uint8_t location : places.words)
    if (location != no_place)
      ordered = ordered && state.memory.store(index, location, Order::relaxed, 0);
  for (std::uint8_t location : places.parts)
    if (location != no_place)
      ordered = ordered && state.memory.store(index, location, Order::relaxed, 0);
  if (spec.path != Path::rendezvous) {
    for (unsigned i = 0; i < spec.slots * spec.slot_lines(); ++i) {
      ordered = ordered && state.memory.store(index, places.flags[i], Order::relaxed, 0);
      ordered = ordered && state.memory.write_cell(index, places.slots[i], 0);
    }
  }
  // The books of the test start anew for both; the peer's private words are its own to renew.
  for (const Side side : {Side::sender, Side::receiver})
    state.endpoints[endpoint_of(p, side)].started = state.endpoints[endpoint_of(p, side)].ended = 0;
  state.copied[p] = 0;
  return ordered ? nullptr : "a block was zeroed while the peer may still use it";
}

// A half that has failed begins again on another queue, with its buffers as its user left them.
bool World::renew(State& state, unsigned index, unsigned p) const {
  bool ordered = true;
  for (const Side side : {Side::sender, Side::receiver}) {
    const unsigned e = endpoint_of(p, side);
    if (!(owns_[index] >> e & 1)) continue;
    state.endpoints[e] = Endpoint{};
    if (!specs_[p].may_close) continue;
    state.threads[index].failed = false;
    const unsigned reused = places_[p].reused[static_cast<unsigned>(side)];
    if (reused != no_place) state.memory.store(index, reused, Order::relaxed, 0);
    for (unsigned line = 0; side == Side::receiver && line < specs_[p].lines; ++line)
      ordered = ordered && state.memory.write_cell(index, places_[p].incoming[line], untouched);
  }
  return ordered;
}

unsigned World::owned(unsigned index, unsigned p) const {
  return endpoint_of(
      p, owns_[index] >> endpoint_of(p, Side::sender) & 1 ? Side::sender : Side::receiver);
}

}  // namespace penstock::explorer
