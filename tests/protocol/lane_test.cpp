// SPDX-License-Identifier: Apache-2.0
// Lanes: a sender and a receiver that try their messages, in every interleaving and with every
// value that the memory model lets a load read. What comes must be the message of its number, whole
// and once; and the defects that could be planted must show.
#include <gtest/gtest.h>

#include <iostream>
#include <string>
#include <vector>

#include "protocol/lane.hpp"
#include "protocol/model/litmus.hpp"

namespace penstock::explorer {
namespace {

using protocol::lane::Number;
using protocol::lane::Word;

// Planted in a port of one end.
enum class Defect {
  none,
  head_relaxed,
  head_first,     // before the message
  head_unread,    // the receiver takes whatever lies in the slot
  taken_relaxed,  // by the receiver
  taken_first,    // before it has read the slot
  taken_unread    // the sender takes every slot for free
};

// Locations: HEAD and TAKEN of each slot; cells: a slot's message.
struct LanePort {
  LitmusThread& thread;
  unsigned its_slots;
  Defect defect;
  Number number = 0;  // sender: of the message
  Number read = 0;    // receiver

  unsigned at(Word word, unsigned slot) const { return 2 * slot + (word == Word::taken ? 1 : 0); }

  template <Order order>
  Number load(Word word, unsigned slot) {
    const Number value = thread.load(at(word, slot), order);
    if (defect == Defect::head_unread && order == Order::acquire && word == Word::head)
      return value == 0 ? 0 : number;
    if (defect == Defect::taken_unread && word == Word::taken)
      return thread.load(at(Word::head, slot), Order::relaxed);
    return value;
  }
  template <Order order>
  void store(Word word, unsigned slot, Number value) {
    if (defect == Defect::head_first && word == Word::head) return;
    if (defect == Defect::taken_first && word == Word::taken) return;
    const bool relaxed =
        defect == (word == Word::head ? Defect::head_relaxed : Defect::taken_relaxed);
    thread.store(at(word, slot), relaxed ? Order::relaxed : order, static_cast<Value>(value));
  }
  void fill(unsigned slot) {
    if (defect == Defect::head_first)
      thread.store(at(Word::head, slot), Order::release, static_cast<Value>(number));
    thread.write(slot, static_cast<Value>(number));
  }
  void drain(unsigned slot) {
    if (defect == Defect::taken_first)
      thread.store(at(Word::taken, slot), Order::release, static_cast<Value>(number));
    read = thread.read(slot);
  }
  unsigned slots() const { return its_slots; }
};
static_assert(protocol::lane::Port<LanePort>);

// The sender tries its messages in their order, some times in all; the receiver tries its receives
// in an order of its own. Register n: what receive n has read.
Outcomes run(unsigned slots, const std::vector<Number>& receives, unsigned sends, Defect defect) {
  const LitmusBody sender = [=](LitmusThread& thread, std::vector<int>&) {
    Number next = 1;
    for (unsigned attempt = 0; attempt < sends && next <= 3; ++attempt) {
      LanePort port{thread, slots, defect, next};
      const bool sent = protocol::lane::send(port, next);
      if (thread.stopped()) return;
      if (sent) ++next;
    }
  };
  const LitmusBody receiver = [=](LitmusThread& thread, std::vector<int>& registers) {
    for (const Number number : receives) {
      if (registers[number] != 0) continue;
      LanePort port{thread, slots, defect, number};
      const bool came = protocol::lane::receive(port, number);
      if (thread.stopped()) return;
      if (came) registers[number] = static_cast<int>(port.read);
    }
  };
  Shape shape;
  shape.locations = 2 * slots;
  shape.cells = slots;
  shape.threads = 2;
  shape.readers.fill(3);
  return run_litmus(shape, 4, {sender, receiver});
}

bool all_right(const Outcomes& outcomes) {
  for (const std::vector<int>& outcome : outcomes) {
    if (outcome.size() != 4) return false;  // a race
    for (int number = 1; number <= 3; ++number)
      if (outcome[static_cast<std::size_t>(number)] != 0 &&
          outcome[static_cast<std::size_t>(number)] != number)
        return false;
  }
  return true;
}

const std::vector<std::vector<Number>> orders{
    {1, 2, 3}, {3, 2, 1}, {2, 1, 3, 2}, {1, 1, 2, 3}, {2, 2, 1, 2}};

TEST(Lane, EveryMessageMeetsTheReceiveOfItsNumber) {
  bool all_came = false;
  for (const unsigned slots : {1u, 2u, 3u}) {
    for (const auto& receives : orders) {
      const Outcomes outcomes = run(slots, receives, 4, Defect::none);
      EXPECT_TRUE(all_right(outcomes)) << slots << " slots";
      for (const auto& outcome : outcomes) all_came |= outcome == std::vector<int>{0, 1, 2, 3};
    }
  }
  EXPECT_TRUE(all_came);
}

void expect_found(Defect defect, const char* name) {
  bool found = false;
  for (const unsigned slots : {1u, 2u})
    for (const auto& receives : orders) found |= !all_right(run(slots, receives, 4, defect));
  std::cout << "  " << name << (found ? " found\n" : " NOT FOUND\n");
  EXPECT_TRUE(found) << name;
}

TEST(PlantedInLane, AreFound) {
  expect_found(Defect::head_relaxed, "HEAD relaxed");
  expect_found(Defect::head_first, "HEAD before the message");
  expect_found(Defect::head_unread, "HEAD without a number");
  expect_found(Defect::taken_relaxed, "TAKEN relaxed");
  expect_found(Defect::taken_first, "TAKEN before the message is read");
  expect_found(Defect::taken_unread, "TAKEN not looked at");
}

}  // namespace
}  // namespace penstock::explorer
