// SPDX-License-Identifier: Apache-2.0
// What a thread may do next.
#include <bit>

#include "protocol/explorer/world.hpp"

namespace penstock::explorer {

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
      if (state.memory.newest(events_[call.number]) >= call.count)
        moves.push_back({Move::Kind::await, call.number});
      break;
    case Call::Kind::zero:
      // Where sides close, a block is reused once both have: that is all that is known of the
      // other.
      if (!specs_[call.number].may_close || may_reuse(state, owned(index, call.number)))
        moves.push_back({Move::Kind::zero, call.number});
      break;
    case Call::Kind::renew:
      moves.push_back({Move::Kind::renew, call.number});
      break;
    case Call::Kind::wait:
      break;  // enter_call has set `waiting`
  }
}

// The words that a receiver looks at until its buffer is untouched lie in its own block.
bool World::may_reuse(const State& state, unsigned e) const {
  const bool looks = specs_[pair_of(e)].untouched && side_of(e) == Side::sender;
  return peer_has_closed(state, e) && (!looks || state.endpoints[e ^ 1u].closed);
}

void World::start_moves(const State& state, const Thread& thread, std::uint8_t e,
                        std::vector<Move>& moves) const {
  if (settles(state, e) && !thread.failed)
    waiting_moves(state, thread, e, moves);
  else
    moves.push_back({Move::Kind::start, e});
}

void World::waiting_moves(const State& state, const Thread& thread, std::uint8_t e,
                          std::vector<Move>& moves) const {
  moves.push_back({Move::Kind::poll, e});
  if (!specs_[pair_of(e)].may_close || thread.failed || state.endpoints[e].ending) return;
  if (peer_has_closed(state, e) || state.endpoints[e].fate.failed)
    moves.push_back({Move::Kind::ask, e});
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

}  // namespace penstock::explorer
