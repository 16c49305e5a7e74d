// SPDX-License-Identifier: Apache-2.0
#include "protocol/explorer/world.hpp"

#include <algorithm>
#include <bit>

#include "protocol/ring.hpp"

namespace penstock::explorer {

namespace {

std::uint8_t bit(unsigned index) {
  return static_cast<std::uint8_t>(1u << index);
}

}  // namespace

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
      if (call.kind == Call::Kind::start || call.kind == Call::Kind::close) owns_[t] |= bit(call.endpoint);
      if (call.kind == Call::Kind::wait) owns_[t] |= call.endpoints;
      if (call.kind == Call::Kind::record || call.kind == Call::Kind::await)
        events = std::max(events, call.number + 1u);
    }
    for (unsigned e = 0; e < max_endpoints; ++e)
      if (owns_[t] >> e & 1) users[e] |= bit(t);
  }
  shape_.threads = static_cast<unsigned>(programs_.size());
  for (unsigned p = 0; p < specs_.size(); ++p)
    places_.push_back(
        place_pair(specs_[p], shape_, users[endpoint_of(p, Side::sender)], users[endpoint_of(p, Side::receiver)]));
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

bool World::finished(const State& state, unsigned index) const {
  const Thread& thread = state.threads[index];
  if (thread.halted) return true;
  if (thread.activity != Activity::none || thread.waiting != 0) return false;
  if (any_order_[index] == 0) return thread.at == programs_[index].size();
  for (unsigned e = 0; e < max_endpoints; ++e)
    if ((any_order_[index] >> e & 1) && state.endpoints[e].ended < epochs_[pair_of(e)]) return false;
  return true;
}

bool World::finished(const State& state) const {
  for (unsigned t = 0; t < threads(); ++t)
    if (!finished(state, t)) return false;
  return true;
}

void World::moves(const State& state, unsigned index, std::vector<Move>& moves) const {
  moves.clear();
  const Thread& thread = state.threads[index];
  if (finished(state, index)) return;
  if (thread.activity != Activity::none) {
    moves.push_back({Move::Kind::resume});
    return;
  }
  for (std::uint8_t e = 0; e < max_endpoints; ++e)
    if (thread.waiting >> e & 1) waiting_moves(state, thread, e, moves);
  if (thread.waiting != 0) return;
  if (any_order_[index] != 0) return any_order_moves(state, index, moves);
  const Call& call = programs_[index][thread.at];
  switch (call.kind) {
    case Call::Kind::start:
      start_moves(state, thread, call.endpoint, moves);
      break;
    case Call::Kind::close:
      moves.push_back({Move::Kind::close, call.endpoint});
      break;
    case Call::Kind::record:
      moves.push_back({Move::Kind::record, call.number});
      break;
    case Call::Kind::await:
      if (state.memory.newest(events_[call.number]) >= call.count) moves.push_back({Move::Kind::await, call.number});
      break;
    case Call::Kind::zero:
      moves.push_back({Move::Kind::zero, call.number});
      break;
    case Call::Kind::renew:
      moves.push_back({Move::Kind::renew, call.number});
      break;
    case Call::Kind::wait:
      break;  // enter_call has set `waiting`
  }
}

// Whether what a thread waits for at this end is that its next start need wait no more.
bool World::settles(const State& state, unsigned e) const {
  const Endpoint& endpoint = state.endpoints[e];
  return !machines_[pair_of(e)].send_has_wait && endpoint.send.posted && endpoint.started == endpoint.ended;
}

void World::start_moves(const State& state, const Thread& thread, std::uint8_t e, std::vector<Move>& moves) const {
  if (settles(state, e) && !thread.failed)
    waiting_moves(state, thread, e, moves);
  else
    moves.push_back({Move::Kind::start, e});
}

void World::waiting_moves(const State& state, const Thread& thread, std::uint8_t e, std::vector<Move>& moves) const {
  moves.push_back({Move::Kind::poll, e});
  if (!specs_[pair_of(e)].may_close || thread.failed) return;
  if (peer_has_closed(state, e) || state.endpoints[e].fate.failed) moves.push_back({Move::Kind::ask, e});
  if (state.releases < releases_) moves.push_back({Move::Kind::release, e});
}

void World::any_order_moves(const State& state, unsigned index, std::vector<Move>& moves) const {
  std::uint8_t open = 0;
  for (std::uint8_t e = 0; e < max_endpoints; ++e) {
    if (!(any_order_[index] >> e & 1)) continue;
    const Endpoint& endpoint = state.endpoints[e];
    if (endpoint.started > endpoint.ended) {
      open |= bit(e);
      moves.push_back({Move::Kind::wait, e, bit(e)});
    } else if (endpoint.started < epochs_[pair_of(e)]) {
      start_moves(state, state.threads[index], e, moves);
    }
  }
  if (std::popcount(open) < 2) return;
  for (std::uint8_t e = 0; e < max_endpoints; ++e)
    if (open >> e & 1) moves.push_back({Move::Kind::wait, e, open});
}

Effect World::apply(State& state, unsigned index, const Move& move, unsigned choice, std::string* text) const {
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
      renew(state, index, move.endpoint);
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

Effect World::begin_call(State& state, unsigned index, Activity activity, std::uint8_t endpoint, unsigned choice,
                         std::string* text) const {
  state.threads[index].activity = activity;
  state.threads[index].endpoint = endpoint;
  return run_call(state, index, choice, text);
}

Effect World::run_call(State& state, unsigned index, unsigned choice, std::string* text) const {
  Thread& thread = state.threads[index];
  const unsigned e = thread.endpoint;
  const unsigned p = pair_of(e);
  Endpoint& endpoint = state.endpoints[e];
  Step step{state.memory,  specs_[p], places_[p], index, thread.log, choice, state.copied[p], endpoint.ended + Epoch{1},
            endpoint.fate, text};
  const std::unique_ptr<ModelPort> port = make_port_(step);
  Running run{machines_[p], step, *port, side_of(e), endpoint.send, endpoint.receive};
  run.settles = settles(state, e);
  if (private_[e] != no_place && thread.log.size == 0) step.write(private_[e], 0);
  if (thread.activity == Activity::start && thread.log.size == 0 && !thread.failed) before_start(state, step, e);
  run.execute(thread.activity, thread.failed);
  if (!step.stopped) {  // the call has returned
    endpoint.send = run.send;
    endpoint.receive = run.receive;
    endpoint.fate = step.fate;
    const Activity activity = thread.activity;
    if (run.gave_up) after_give_up(state, step, index, run);
    if (activity == Activity::start && !run.gave_up) after_start(state, step, thread, run.outcome);
    if (run.ended && !run.settles) after_wait(state, step, thread);
    if (activity == Activity::close) after_close(state, index, e);
    if (run.ended || run.gave_up) thread.waiting &= static_cast<std::uint8_t>(~bit(e));
    const bool looked = activity != Activity::start && activity != Activity::close;
    const bool over = (run.ended && !run.settles) || run.gave_up;
    const bool leaves = !looked || (over && thread.waiting == 0);
    thread.activity = Activity::none;
    thread.endpoint = 0;
    thread.knows = false;
    thread.log = CallLog{};
    if (leaves) leave_call(state, index);
  }
  return {step.choices, step.fault};
}

// The order of transport/host_plan.cpp: start_step, wait_step, wait_again.
void World::Running::execute(Activity activity, bool queue_failed) {
  switch (activity) {
    case Activity::start:
      if (queue_failed)
        give_up();  // nothing is sent on after a failure
      else
        start();
      break;
    case Activity::wait:
      look();
      if (!ended && queue_failed) give_up();
      break;
    case Activity::ask:
      if (!step.fate.failed && !closing().peer_closed(port, awaited())) break;
      look();
      if (!ended) give_up();
      break;
    case Activity::release:
      give_up();
      break;
    case Activity::close:
      closing().close(port, epoch());
      break;
    case Activity::none:
      break;
  }
}

void World::Running::start() {
  step.fate.misplaced = false;
  if (side == Side::sender)
    outcome = machine.start_send(port, send);
  else
    machine.start_receive(port, receive);
  if (step.fate.failed || outcome == protocol::StartOutcome::peer_closed) give_up();
}

void World::Running::look() {
  const auto progress = settles                ? machine.settle_send(port, send)
                        : side == Side::sender ? machine.wait_send(port, send)
                                               : machine.wait_receive(port, receive);
  ended = progress == protocol::Progress::ended;
}

void World::Running::give_up() {
  closing().give_up(port, epoch());
  gave_up = true;
}

Epoch World::Running::awaited() const {
  return (side == Side::sender ? send.done : receive.done) + 1;
}

// The first one not served when this end closes.
Epoch World::Running::epoch() const {
  return side == Side::sender ? protocol::ring::next_epoch(send, machine.send_has_wait) : awaited();
}

void World::before_start(State&, Step& step, unsigned e) const {
  for (unsigned line = 0; line < step.spec.lines; ++line) {
    if (side_of(e) == Side::sender) {
      step.write(step.places.outgoing[line], static_cast<Value>(step.epoch));
    } else if (step.read(step.places.incoming[line]) != untouched) {
      step.fail("a receive buffer was written before its receive was started (G5)");
    }
  }
}

void World::after_start(State& state, Step& step, Thread& thread, protocol::StartOutcome outcome) const {
  const unsigned p = pair_of(thread.endpoint);
  if (!machines_[p].send_has_wait && side_of(thread.endpoint) == Side::sender &&
      step.epoch > state.copied[p] + step.spec.slots)
    step.fail("a message was sent although it had no slot");
  if (outcome == protocol::StartOutcome::receiver_not_started)
    step.fail("a kept promise of a ready send was called broken");
  if (thread.knows) step.fail("a start succeeded although its thread knows that the peer has closed");
  if (outcome != protocol::StartOutcome::no_buffer) {
    ++state.endpoints[thread.endpoint].started;
  } else if (buffer_may_fill_) {
    thread.halted = true;  // the message was not sent, and the queue's error is sticky
  } else {
    step.fail("a buffered send found no buffer");
  }
}

void World::after_wait(State& state, Step& step, Thread& thread) const {
  const unsigned e = thread.endpoint;
  const PairSpec& spec = step.spec;
  ++state.endpoints[e].ended;
  for (unsigned line = 0; line < spec.lines; ++line) {
    if (side_of(e) == Side::sender) {
      step.write(step.places.outgoing[line], overwritten);
    } else {
      if (step.read(step.places.incoming[line]) != step.epoch) step.fail("a receive ended with another message (G6)");
      step.write(step.places.incoming[line], untouched);
    }
  }
  if (side_of(e) == Side::receiver) {
    if (state.copied[pair_of(e)] != step.epoch) step.fail("a receive ended without one copy of its message");
    return;
  }
  if (state.endpoints[e].fate.misplaced) step.fail("a copy into a buffer in new use was reported as success (L21)");
  if (spec.path == Path::rendezvous && state.copied[pair_of(e)] < step.epoch)
    step.fail("a large send ended before its message was copied");
  const unsigned receives = state.endpoints[e ^ 1u].started;
  const bool meets = spec.mode == Mode::synchronous || spec.path == Path::rendezvous;
  if (meets && receives < step.epoch) step.fail("a send ended before its receive was started (G5)");
  const bool sees_to_the_next = spec.path == Path::ring && machines_[pair_of(e)].send_has_wait;
  if (sees_to_the_next && spec.mode != Mode::buffered && step.epoch + 1 > state.copied[pair_of(e)] + spec.slots)
    step.fail("a send ended although the next one has no slot");
}

// The queue has failed; its user knows, and takes the buffers back at once.
void World::after_give_up(State& state, Step& step, unsigned index, const Running& run) const {
  const unsigned e = state.threads[index].endpoint;
  const bool asked = state.threads[index].activity == Activity::ask;
  const bool sent = state.endpoints[e ^ 1u].started >= step.epoch;
  if (asked && run.side == Side::receiver && step.spec.path == Path::ring && sent)
    step.fail("a message that had been sent whole was given up");
  state.threads[index].failed = true;
  after_close(state, index, e);
}

// No fence orders this store: those of the protocol have to do.
void World::after_close(State& state, unsigned index, unsigned e) const {
  state.endpoints[e].closed = true;
  const unsigned reused = places_[pair_of(e)].reused[static_cast<unsigned>(side_of(e))];
  if (reused != no_place) state.memory.store(index, reused, Order::relaxed, 1);
}

bool World::peer_has_closed(const State& state, unsigned e) const {
  return state.memory.newest(closed_by_peer(e)) != 0;
}

bool World::knows_peer_closed(const State& state, unsigned index, unsigned e) const {
  const PairSpec& spec = specs_[pair_of(e)];
  // A deferred start does not look.
  if (!spec.may_close || spec.deferred || side_of(e) == Side::receiver) return false;
  const unsigned closed = closed_by_peer(e);
  return state.memory.knows_newest(index, closed) &&
         protocol::closed_before(state.memory.newest(closed), state.endpoints[e].ended + Epoch{1});
}

unsigned World::closed_by_peer(unsigned e) const {
  const Word word = side_of(e) == Side::sender ? Word::receiver_closed : Word::sender_closed;
  return places_[pair_of(e)].words[static_cast<unsigned>(word)];
}

bool World::record(State& state, unsigned index, unsigned event) const {
  const Value count = state.memory.newest(events_[event]);
  return state.memory.store(index, events_[event], Order::release, static_cast<Value>(count + 1));
}

const char* World::zero(State& state, unsigned index, unsigned p) const {
  const PairSpec& spec = specs_[p];
  const PairPlaces& places = places_[p];
  bool ordered = true;
  for (std::uint8_t location : places.words)
    if (location != no_place) ordered = ordered && state.memory.store(index, location, Order::relaxed, 0);
  if (spec.path == Path::ring) {
    for (unsigned i = 0; i < spec.slots * spec.lines; ++i) {
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

void World::renew(State& state, unsigned index, unsigned p) const {
  for (const Side side : {Side::sender, Side::receiver}) {
    const unsigned e = endpoint_of(p, side);
    if (owns_[index] >> e & 1) state.endpoints[e] = Endpoint{};
  }
}

}  // namespace penstock::explorer
