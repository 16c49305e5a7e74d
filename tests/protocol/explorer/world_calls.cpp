// SPDX-License-Identifier: Apache-2.0
// Calls of the ends' code, and what the user's program does around them: it uses its buffers as
// early as it may, and checks what the calls have promised.
#include "protocol/explorer/world.hpp"
#include "protocol/ring.hpp"

namespace penstock::explorer {

Effect World::begin_call(State& state, unsigned index, Activity activity, std::uint8_t endpoint,
                         unsigned choice, std::string* text) const {
  state.threads[index].activity = activity;
  state.threads[index].endpoint = endpoint;
  return run_call(state, index, choice, text);
}

Effect World::run_call(State& state, unsigned index, unsigned choice, std::string* text) const {
  Thread& thread = state.threads[index];
  const unsigned e = thread.endpoint;
  const unsigned p = pair_of(e);
  Endpoint& endpoint = state.endpoints[e];
  Step step{state.memory,  specs_[p], places_[p],      index,
            thread.log,    choice,    state.copied[p], endpoint.ended + Epoch{1},
            endpoint.fate, text};
  const std::unique_ptr<ModelPort> port = make_port_(step);
  Running run{machines_[p], step, *port, side_of(e), endpoint.send, endpoint.receive};
  run.settles = settles(state, e);
  run.ending = endpoint.ending;
  run.under_way = endpoint.started > endpoint.ended;
  if (private_[e] != no_place && thread.log.size == 0) step.write(private_[e], 0);
  if (thread.activity == Activity::start && thread.log.size == 0 && !thread.failed)
    before_start(state, step, e);
  run.execute(thread.activity, thread.failed);
  if (!step.stopped) {  // the call has returned
    endpoint.send = run.send;
    endpoint.receive = run.receive;
    endpoint.fate = step.fate;
    const Activity activity = thread.activity;
    if (run.ending) {
      after_look_at_ending(state, step, index, run);
      return {step.choices, step.fault};
    }
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

// The order of plan/host_plan.cpp: start_step, poll_step, wait_again; and of channel/cell.cpp,
// which frees what is under way by giving it up.
void World::Running::execute(Activity activity, bool queue_failed) {
  if (ending) {
    ended = machine.is_untouched(port, receive);
    return;
  }
  switch (activity) {
    case Activity::start:
      if (queue_failed)
        give_up();  // nothing is sent on after a failure
      else
        start();
      break;
    case Activity::wait:
      poll();
      if (!ended && queue_failed) give_up();
      break;
    case Activity::ask:
      if (!step.fate.failed && !closing().peer_closed(port, awaited())) break;
      poll();
      if (!ended) give_up();
      break;
    case Activity::release:
      give_up();
      break;
    case Activity::close:
      close();
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

void World::Running::poll() {
  const auto progress = settles                ? machine.settle_send(port, send)
                        : side == Side::sender ? machine.wait_send(port, send)
                                               : machine.wait_receive(port, receive);
  ended = progress == protocol::Progress::ended;
}

void World::Running::give_up() {
  gave_up = true;
  if (looks_on())
    machine.give_up_receive(port, receive);
  else
    closing().give_up(port, epoch());
  ending = looks_on();
}

void World::Running::close() {
  if (looks_on() && under_way)
    give_up();
  else
    closing().close(port, epoch());
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

void World::after_start(State& state, Step& step, Thread& thread,
                        protocol::StartOutcome outcome) const {
  const unsigned p = pair_of(thread.endpoint);
  if (!machines_[p].send_has_wait && side_of(thread.endpoint) == Side::sender &&
      step.epoch > state.copied[p] + step.spec.slots)
    step.fail("a message was sent although it had no slot");
  if (outcome == protocol::StartOutcome::receiver_not_started)
    step.fail("a kept promise of a ready send was called broken");
  if (thread.knows)
    step.fail("a start succeeded although its thread knows that the peer has closed");
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
      if (step.read(step.places.incoming[line]) != step.epoch)
        step.fail("a receive ended with another message (G6)");
      step.write(step.places.incoming[line], untouched);
    }
  }
  if (side_of(e) == Side::receiver) {
    if (state.copied[pair_of(e)] != step.epoch)
      step.fail("a receive ended without one copy of its message");
    return;
  }
  if (state.endpoints[e].fate.misplaced)
    step.fail("a copy into a buffer in new use was reported as success (L21)");
  const bool direct = spec.moves_directly(step.epoch);
  if (direct && state.copied[pair_of(e)] < step.epoch)
    step.fail("a large send ended before its message was copied");
  const unsigned receives = state.endpoints[e ^ 1u].started;
  const bool meets = spec.mode == Mode::synchronous || direct;
  if (meets && receives < step.epoch) step.fail("a send ended before its receive was started (G5)");
  const bool sees_to_the_next = spec.path == Path::ring && machines_[pair_of(e)].send_has_wait;
  if (sees_to_the_next && spec.mode != Mode::buffered &&
      step.epoch + 1 > state.copied[pair_of(e)] + spec.slots)
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

// A look, or the call that gave up: from now on the thread looks until the buffer is untouched.
void World::after_look_at_ending(State& state, Step& step, unsigned index,
                                 const Running& run) const {
  Thread& thread = state.threads[index];
  const std::uint8_t e = thread.endpoint;
  const Activity activity = thread.activity;
  Endpoint& endpoint = state.endpoints[e];
  if (run.gave_up && activity != Activity::close) thread.failed = true;
  endpoint.ending = !run.ended || run.gave_up;
  thread.activity = Activity::none;
  thread.endpoint = 0;
  thread.log = CallLog{};
  if (endpoint.ending) {
    thread.waiting |= bit(e);
    return;
  }
  for (unsigned line = 0; line < step.spec.lines; ++line)
    step.write(step.places.incoming[line], untouched);
  after_close(state, index, e);
  thread.waiting &= static_cast<std::uint8_t>(~bit(e));
  if (thread.waiting == 0) leave_call(state, index);
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

}  // namespace penstock::explorer
