// SPDX-License-Identifier: Apache-2.0
// Lanes between kernels: the decisions of protocol/flagged_lane.hpp, with flags of two bits, in
// every order in which messages of several streams may be sent, their cells may land, and receives
// may find them. What a slot does not take goes another way. Each message must come once and whole,
// and the defects that could be planted must show.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>

#include "protocol/flagged_lane.hpp"
#include "protocol/state_search.hpp"

namespace penstock::protocol::lane {
namespace {

using Small = std::uint8_t;
constexpr unsigned bits = 2;
constexpr Small most_messages = 6, most_slots = 2;
// Two of the head, which all messages write, and two behind it.
constexpr Small head_cells = 2, all_cells = 4;

// What the shipped code decides; planted defects take other decisions.
struct Rules {
  bool (*may_send)(Number, Number, Number, unsigned, unsigned) = lane::may_send;
  bool (*is_fresh)(Number, Number, unsigned, unsigned) = lane::is_fresh;
  bool head_has_number = true;
  bool refreshes_all = true;
  bool known_is_taken = true;  // KNOWN is what the receiver has told
};

struct Slot {
  std::array<Small, all_cells> cell{};     // whose part has landed there
  std::array<Small, all_cells> pending{};  // whose is on its way; 0: nothing
  Small taken = 0, sent = 0, known = 0, refreshed = 0;
};

enum class Went : Small { not_yet, by_slot, another_way };

struct State {
  std::array<Slot, most_slots> slot{};
  std::array<Went, most_messages + 1> went{};
  std::array<Small, most_messages + 1> cells_behind{};  // that it needs
  std::array<Small, most_messages + 1> received{};
};

class FlaggedLane final : public StateSearch<State> {
 public:
  FlaggedLane(Small slots, Small messages, const Rules& rules)
      : slots_(slots), messages_(messages), rules_(rules) {}

 private:
  Small slot_of(Small number) const { return static_cast<Small>(number % slots_); }
  std::uint64_t flag(Small number) const { return flag_of(number, slots_, bits); }
  std::uint64_t shown(Small number) const { return shown_flag(number, slots_, bits); }

  void step() override {
    for (Small number = 1; number <= messages_; ++number) {
      if (now_.went[number] == Went::not_yet) try_to_send(number);
      if (now_.received[number] == 0) try_to_receive(number);
    }
    for (Small which = 0; which < slots_; ++which)
      for (Small i = 0; i < all_cells; ++i)
        if (now_.slot[which].pending[i] != 0) land(which, i);
  }
  bool may_end() const override {
    for (Small number = 1; number <= messages_; ++number)
      if (now_.received[number] != 1) return false;
    return true;
  }

  void land(Small which, Small i) {
    State next = now_;
    Slot& slot = next.slot[which];
    slot.cell[i] = slot.pending[i];
    slot.pending[i] = 0;
    go(next);
  }

  // A kernel's stores have landed when the next one of the slot runs. KNOWN may be old.
  void try_to_send(Small number) {
    const Slot& slot = now_.slot[slot_of(number)];
    for (const Small pending : slot.pending)
      if (pending != 0) return;
    send(number, slot.known);
    if (slot.taken != slot.known) send(number, slot.taken);
  }
  void send(Small number, Small known) {
    State next = now_;
    Slot& slot = next.slot[slot_of(number)];
    slot.known = rules_.known_is_taken ? known : slot.sent;
    if (!rules_.may_send(number, slot.sent, slot.known, slots_, bits)) {
      next.went[number] = Went::another_way;
      return go(next);
    }
    if (!rules_.is_fresh(number, slot.refreshed, slots_, bits)) {
      for (Small i = head_cells; i < (rules_.refreshes_all ? all_cells : all_cells - 1); ++i)
        slot.pending[i] = number;
      slot.refreshed = number;
      next.went[number] = Went::another_way;
      return go(next);
    }
    slot.sent = number;
    next.went[number] = Went::by_slot;
    const State before = next;
    for (Small behind = 0; behind <= all_cells - head_cells; ++behind) {
      next = before;
      next.cells_behind[number] = behind;
      for (Small i = 0; i < head_cells + behind; ++i)
        next.slot[slot_of(number)].pending[i] = number;
      go(next);
    }
  }

  void try_to_receive(Small number) {
    if (now_.went[number] == Went::another_way) {
      State next = now_;
      next.received[number] = 1;
      go(next);
    }
    const Slot& slot = now_.slot[slot_of(number)];
    for (Small i = 0; i < head_cells; ++i)
      if (shown(slot.cell[i]) != flag(number)) return;
    if (rules_.head_has_number && slot.cell[0] != number) return;
    const Small behind = now_.cells_behind[slot.cell[0]];
    for (Small i = head_cells; i < head_cells + behind; ++i)
      if (shown(slot.cell[i]) != flag(number)) return;
    for (Small i = 0; i < head_cells + behind; ++i)
      if (slot.cell[i] != number)
        return fault("message " + std::to_string(number) + " is taken with a part of message " +
                     std::to_string(slot.cell[i]));
    State next = now_;
    next.received[number] = 1;
    next.slot[slot_of(number)].taken = number;
    go(next);
  }

  const Small slots_, messages_;
  const Rules rules_;
};

struct Shape {
  Small slots, messages;
};
// Flags come again after 4 rounds, and cells are refreshed after 2.
constexpr std::array shapes{Shape{1, 6}, Shape{2, 6}};

TEST(FlaggedLane, EveryMessageComesOnceAndWhole) {
  std::size_t states = 0;
  for (const Shape& shape : shapes) {
    FlaggedLane lane(shape.slots, shape.messages, {});
    EXPECT_EQ(lane.search(), "") << int{shape.slots} << " slots, " << int{shape.messages};
    states += lane.states();
  }
  std::printf("  %zu states\n", states);
}

void expect_found(const char* name, const Rules& rules) {
  std::string found;
  for (const Shape& shape : shapes)
    if (found.empty()) found = FlaggedLane(shape.slots, shape.messages, rules).search();
  std::printf("  %s: %s\n", name, found.empty() ? "NOT FOUND" : found.c_str());
  EXPECT_FALSE(found.empty()) << name;
}

TEST(PlantedInFlaggedLane, AreFound) {
  Rules rules;
  rules.may_send = [](Number, Number sent, Number taken, unsigned, unsigned) {
    return sent == taken;
  };
  expect_found("a slot whose head shows the flag already", rules);
  rules = {};
  rules.is_fresh = [](Number, Number, unsigned, unsigned) { return true; };
  expect_found("cells that are never refreshed", rules);
  rules = {};
  rules.refreshes_all = false;
  expect_found("a cell that is left out when they are refreshed", rules);
  rules = {};
  rules.head_has_number = false;
  expect_found("a head without a number", rules);
  rules = {};
  rules.known_is_taken = false;
  expect_found("TAKEN not looked at", rules);
}

}  // namespace
}  // namespace penstock::protocol::lane
