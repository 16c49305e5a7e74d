// SPDX-License-Identifier: Apache-2.0
#include "protocol/explorer/world.hpp"

namespace penstock::explorer {

const char* World::check_progress(const State& state) const {
  for (unsigned t = 0; t < threads(); ++t) {
    const Thread& thread = state.threads[t];
    if (thread.activity != Activity::none || thread.halted) continue;
    for (unsigned e = 0; e < max_endpoints; ++e) {
      if (!(thread.waiting >> e & 1)) continue;
      if (specs_[pair_of(e)].copy_may_fail) continue;  // whose copy has failed ends first
      // A start that is held up settles the epoch before.
      const unsigned awaited = state.endpoints[e].ended + (settles(state, e) ? 0u : 1u);
      // A target waits for the whole of its origin's complete.
      const Endpoint& peer = state.endpoints[e ^ 1u];
      const bool target = specs_[pair_of(e)].path == Path::window && side_of(e) == Side::receiver;
      const bool may_rely = (target ? peer.ended : peer.started) >= awaited || peer.closed ||
                            state.endpoints[e].ending;
      if (may_rely && !ends_alone(state, t, e))
        return "a wait does not end although the peer has started its epoch, or has closed (G4)";
    }
  }
  return nullptr;
}

bool World::ends_alone(const State& state, unsigned index, unsigned e) const {
  State copy = state;
  auto finish_call = [&](unsigned t) {
    for (unsigned i = 0; i < max_accesses && copy.threads[t].activity != Activity::none; ++i)
      apply(copy, t, {Move::Kind::resume}, 0);
  };
  const bool settling = settles(state, e);
  auto ended = [&] {
    const bool over = settling ? !copy.endpoints[e].send.posted
                               : copy.endpoints[e].ended > state.endpoints[e].ended;
    return over || copy.endpoints[e].closed;
  };
  auto poll = [&](unsigned t, unsigned endpoint) {
    finish_call(t);
    apply(copy, t, {Move::Kind::poll, static_cast<std::uint8_t>(endpoint)}, 0);
    finish_call(t);
  };
  for (unsigned t = 0; t < threads(); ++t)
    if (pair_of(copy.threads[t].endpoint) == pair_of(e)) finish_call(t);
  // A poll that loses a claim is followed by one that finds the answer. A sender in a contended
  // claim is inside its wait and polls on as well, after what it may be doing for another pair of
  // the same wait.
  for (unsigned polls = 0; polls < 3; ++polls) {
    poll(index, e);
    if (ended()) return true;
    if (copy.endpoints[e ^ 1u].send.stage != protocol::Stage::contended) continue;
    for (unsigned t = 0; t < threads(); ++t)
      if (copy.threads[t].waiting >> (e ^ 1u) & 1) poll(t, e ^ 1u);
  }
  if (!specs_[pair_of(e)].may_close) return false;
  apply(copy, index, {Move::Kind::ask, static_cast<std::uint8_t>(e)}, 0);
  finish_call(index);
  if (copy.endpoints[e].ending) poll(index, e);
  return ended();
}

}  // namespace penstock::explorer
