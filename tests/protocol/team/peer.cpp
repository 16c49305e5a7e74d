// SPDX-License-Identifier: Apache-2.0
// The other end, cut down to what the team can notice of it.
#include "protocol/closing.hpp"
#include "protocol/team/block.hpp"

namespace penstock::explorer::teams {

namespace {

constexpr Value cleared = 0, new_use = 9;

void write_all(const Scenario& scenario, Hands& hands, Value value) {
  for (unsigned part = 0; part < scenario.parts; ++part)
    hands.store(Places::buffer + part, Order::relaxed, value, "its part");
}

std::uint8_t start(const Scenario& scenario, Hands& hands) {
  write_all(scenario, hands, scenario.task == Task::push ? cleared : hands.actor.epoch);
  hands.store(Places::ready, Order::release, hands.actor.epoch, "READY");
  return PeerAt::wait;
}

std::uint8_t wait(const Scenario& scenario, Hands& hands) {
  for (unsigned part = 0; part < scenario.parts; ++part)
    if (hands.load(Places::said + part, Order::acquire, "DONE or FIN") < hands.actor.epoch)
      return PeerAt::wait;
  if (scenario.task == Task::push)
    for (unsigned part = 0; part < scenario.parts; ++part)
      if (hands.load(Places::buffer + part, Order::relaxed, "its part") != hands.actor.epoch)
        hands.fail("another message is reported as received");
  return ++hands.actor.epoch > scenario.epochs ? PeerAt::leave : PeerAt::start;
}

std::uint8_t close(const Scenario& scenario, Hands& hands) {
  hands.store(Places::closed_by_peer, Order::release, hands.actor.epoch, "CLOSED");
  hands.fence(Order::seq_cst);
  if (hands.live()) hands.state.truth.closed = hands.actor.epoch;
  if (scenario.task == Task::pull) write_all(scenario, hands, new_use);
  return PeerAt::leave;
}

// Its words serve another pair once both ends have gone.
std::uint8_t leave(const Scenario& scenario, Hands& hands) {
  bool over = hands.load(Places::gone, Order::acquire, "GONE") != 0;
  if (!over && scenario.defect == Defect::reuse_after_closed)
    over = hands.load(Places::closed_by_us, Order::acquire, "CLOSED") != 0;
  if (!over) return PeerAt::leave;
  if (hands.live()) hands.state.truth.reused = true;
  for (unsigned part = 0; part < scenario.parts; ++part)
    hands.store(Places::said + part, Order::relaxed, 0, "zero");
  return finished;
}

}  // namespace

std::uint8_t call_peer(const Scenario& scenario, Hands& hands) {
  switch (hands.actor.at) {
    case PeerAt::start:
      return start(scenario, hands);
    case PeerAt::wait:
      return wait(scenario, hands);
    case PeerAt::close:
      return close(scenario, hands);
    default:
      return leave(scenario, hands);
  }
}

}  // namespace penstock::explorer::teams
