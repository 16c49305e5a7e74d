// SPDX-License-Identifier: Apache-2.0
// Messages that their receiver reads: a sender, and one thread or two of a receiver, in every
// interleaving and with every value that the memory model lets a load read. What comes must be the
// message of its number, whole and once; nobody sleeps beside a message; a sender that dies at any
// step leaves nothing that looks like a message. The defects that are planted must show.
#include <gtest/gtest.h>

#include <array>
#include <iostream>
#include <string>
#include <vector>

#include "protocol/model/litmus.hpp"
#include "protocol/rget.hpp"

namespace penstock::explorer {
namespace {

using protocol::rget::Number;
using protocol::rget::Word;

// Planted in a port of one end.
enum class Defect {
  none,
  head_relaxed,
  head_first,     // before the line
  head_unread,    // the receiver takes whatever lies in the slot
  taken_relaxed,  // by the receiver
  taken_first,    // before it has read the slot
  taken_unread,   // the sender takes the ring for free
  rung_late,      // cleared behind the look into the ring
  unrung,         // the sender does not ring
  no_fence_of_sender,
  no_fence_of_thread,
  asleep_unread,  // the sender wakes nobody
  fin_relaxed,
  fin_first,  // before the pull
  fin_asked_relaxed
};

// The words of a slot come first, then the others; `lock` is the port's owner's.
constexpr unsigned most_slots = 2;
enum At : unsigned { head = 0, taken = most_slots, rung, asleep, fin, lock, words };
// A slot's line, by its number, the two buffers, and what the owner keeps under its lock.
enum Cell : unsigned { line = 0, send_buffer = most_slots, receive_buffer, state, cells };
// Of the message: not taken, taken by a thread, pulled.
enum State : Value { nothing, claimed, over };

unsigned place_of(Word word, unsigned slot) {
  constexpr std::array<unsigned, 5> places{head, taken, rung, asleep, fin};
  return places[static_cast<std::size_t>(word)] + (word == Word::head ? slot : 0);
}

constexpr int for_ever = 1000;

struct RgetPort {
  LitmusThread& thread;
  unsigned its_slots;
  Defect defect;
  Number number = 0;     // sender: of the message
  Number read = 0;       // receiver: of the line that was taken
  bool woke = false;     // sender
  int lives = for_ever;  // accesses that are left until the process dies
  std::uint64_t fin_value = 0;

  bool alive() { return !thread.stopped() && lives > 0 && lives-- > 0; }
  bool is(Defect other) const { return defect == other; }

  template <Order order>
  std::uint64_t load(Word word, unsigned slot) {
    if (word == Word::taken && is(Defect::taken_unread)) return number;
    if (word == Word::asleep && is(Defect::asleep_unread)) return 0;
    if (!alive()) return 0;
    const bool relaxed = word == Word::fin && is(Defect::fin_asked_relaxed);
    const Value value = thread.load(place_of(word, slot), relaxed ? Order::relaxed : order);
    if (word == Word::head && is(Defect::head_unread)) return value == 0 ? 0 : number;
    return value;
  }
  template <Order order>
  void store(Word word, unsigned slot, std::uint64_t value) {
    if ((word == Word::head && is(Defect::head_first)) ||
        (word == Word::taken && is(Defect::taken_first)) ||
        (word == Word::fin && is(Defect::fin_first)))
      return;
    const bool relaxed = (word == Word::head && is(Defect::head_relaxed)) ||
                         (word == Word::taken && is(Defect::taken_relaxed)) ||
                         (word == Word::fin && is(Defect::fin_relaxed));
    put(word, slot, relaxed ? Order::relaxed : order, value);
  }
  std::uint64_t exchange(Word word, std::uint64_t value) {
    if (word == Word::rung && value == 1 && is(Defect::unrung)) return 0;
    if (word == Word::rung && value == 0 && is(Defect::rung_late)) return 1;
    return alive() ? thread.exchange(place_of(word, 0), Order::acq_rel, static_cast<Value>(value))
                   : 0;
  }
  template <Order order>
  void fence() {
    const bool sends = number != 0 && fin_value == 0;
    if (is(sends ? Defect::no_fence_of_sender : Defect::no_fence_of_thread)) return;
    if (alive()) thread.fence(order);
  }
  void fill(unsigned slot) {
    if (is(Defect::head_first)) put(Word::head, slot, Order::release, number);
    if (alive()) thread.write(line + slot, static_cast<Value>(number));
  }
  void drain(unsigned slot) {
    if (is(Defect::taken_first)) put(Word::taken, 0, Order::release, number);
    if (alive()) read = thread.read(line + slot);
  }
  void pull() {
    if (is(Defect::fin_first)) put(Word::fin, 0, Order::release, fin_value);
    if (!alive()) return;
    const Value value = thread.read(send_buffer);
    if (alive()) thread.write(receive_buffer, value);
  }
  void wake() { woke = true; }
  unsigned slots() const { return its_slots; }

  void put(Word word, unsigned slot, Order order, std::uint64_t value) {
    if (alive()) thread.store(place_of(word, slot), order, static_cast<Value>(value));
  }
};
static_assert(protocol::rget::RingPort<RgetPort>);
static_assert(protocol::rget::SentPort<RgetPort>);
static_assert(protocol::rget::TakenPort<RgetPort>);

Shape shape_of(unsigned threads) {
  Shape shape;
  shape.locations = words;
  shape.cells = cells;
  shape.threads = threads;
  shape.fences = true;
  shape.mixed_fences = true;
  shape.readers.fill(static_cast<std::uint8_t>((1u << threads) - 1));
  return shape;
}

// ---- The ring: registers 1 to 3 are the lines as they came, 4 how many were announced, 5 whether
// the sender has woken the thread after its last look, 6 whether that sleeps.

constexpr unsigned ring_registers = 7;

Outcomes run_ring(unsigned slots, unsigned looks, Defect defect, int lives = for_ever) {
  const LitmusBody sender = [=](LitmusThread& thread, std::vector<int>& registers) {
    RgetPort port{thread, slots, defect};
    port.lives = lives;
    port.number = 1;
    for (unsigned attempt = 0; attempt < 3 && port.number <= 3; ++attempt) {
      const bool announced = protocol::rget::announce(port, port.number);
      if (thread.stopped()) return;
      if (port.lives <= 0) break;
      if (announced) registers[4] = static_cast<int>(port.number++);
    }
    registers[5] = port.woke ? 1 : 0;
  };
  const LitmusBody receiver = [=](LitmusThread& thread, std::vector<int>& registers) {
    RgetPort port{thread, slots, defect};
    Number next = 1;
    for (unsigned look = 0; look < looks; ++look) {
      const bool heard = protocol::rget::listen(port);
      if (thread.stopped()) return;
      while (heard && next <= 3) {
        port.number = next;
        const bool came = protocol::rget::take(port, next);
        if (thread.stopped()) return;
        if (!came) break;
        registers[next++] = static_cast<int>(port.read);
      }
      if (defect == Defect::rung_late && heard) thread.exchange(rung, Order::acq_rel, 0);
    }
    port.number = 0;
    const bool sleeps = protocol::rget::may_sleep(port);
    if (thread.stopped()) return;
    registers[6] = sleeps ? 1 : 0;
  };
  return run_litmus(shape_of(2), ring_registers, {sender, receiver});
}

// "": all right.
std::string fault_of_ring(const Outcomes& outcomes, bool dies = false) {
  for (const std::vector<int>& outcome : outcomes) {
    if (outcome.size() != ring_registers) return "a race";
    int came = 0;
    for (int number = 1; number <= 3; ++number) {
      const int read = outcome[static_cast<std::size_t>(number)];
      if (read != 0 && read != number) return "another message";
      if (read != 0) came = number;
    }
    if (!dies && outcome[6] == 1 && outcome[5] == 0 && came < outcome[4])
      return "asleep beside a message";
  }
  return "";
}

TEST(Rget, LinesComeInTheirOrderAndNobodySleepsBesideOne) {
  bool all_came = false, slept = false;
  for (const unsigned slots : {1u, 2u})
    for (const unsigned looks : {1u, 2u, 3u}) {
      const Outcomes outcomes = run_ring(slots, looks, Defect::none);
      EXPECT_EQ(fault_of_ring(outcomes), "") << slots << " slots, " << looks << " looks";
      for (const auto& each : outcomes) {
        all_came |= each[1] == 1 && each[2] == 2 && each[3] == 3;
        slept |= each[6] == 1 && each[5] == 1;
      }
    }
  EXPECT_TRUE(all_came);
  EXPECT_TRUE(slept);
}

TEST(Rget, ASenderThatDiesAnywhereLeavesNothingHalf) {
  bool some_came = false;
  for (const unsigned slots : {1u, 2u})
    for (int lives = 1; lives <= 18; ++lives) {
      const Outcomes outcomes = run_ring(slots, 2, Defect::none, lives);
      EXPECT_EQ(fault_of_ring(outcomes, true), "") << lives << " accesses";
      for (const auto& each : outcomes) some_came |= each[1] == 1;
    }
  EXPECT_TRUE(some_came);
}

// ---- A message: the sender uses its buffer again when it is told, and one of two threads pulls.
// Register 0: what the program has read out of its receive buffer; 1, 2: whether the thread of that
// number has pulled.

Outcomes run_message(Defect defect) {
  const LitmusBody sender = [=](LitmusThread& thread, std::vector<int>&) {
    RgetPort port{thread, 1, defect};
    port.number = 1;
    thread.write(send_buffer, 5);
    const bool announced = protocol::rget::announce(port, 1);
    if (thread.stopped() || !announced) return;
    for (int look = 0; look < 2; ++look) {
      const std::uint64_t told = protocol::rget::told(port);
      if (thread.stopped()) return;
      if (told != 1) continue;
      thread.write(send_buffer, 6);
      return;
    }
  };
  // As the engine's threads do: under the lock they take the line and with it the message, or find
  // that it is over; the pull is outside. Where the lock is held they go on without it.
  const auto receiver = [=](bool program) {
    return [=](LitmusThread& thread, std::vector<int>& registers) {
      RgetPort port{thread, 1, defect};
      port.number = 1;
      port.fin_value = 1;
      bool pulled = false, complete = false;
      for (int look = 0; look < 3 && !complete; ++look) {
        const bool locked = thread.exchange(lock, Order::acq_rel, 1) == 0;
        if (thread.stopped()) return;
        if (!locked) continue;
        const Value seen = thread.read(state);
        if (thread.stopped()) return;
        const bool ours = seen == nothing && protocol::rget::take(port, 1);
        if (thread.stopped()) return;
        if (ours) thread.write(state, claimed);
        if (pulled) thread.write(state, over);
        if (thread.stopped()) return;
        complete = pulled || seen == over;
        thread.overwrite(lock, Order::release, 0);
        if (thread.stopped()) return;
        if (!ours) continue;
        protocol::rget::pull(port, 1);
        if (thread.stopped()) return;
        pulled = true;
        registers[program ? 2 : 1] = 1;
      }
      if (!program || !complete) return;
      const Value value = thread.read(receive_buffer);
      if (thread.stopped()) return;
      registers[0] = value;
      thread.write(receive_buffer, 7);
    };
  };
  return run_litmus(shape_of(3), 3, {sender, receiver(false), receiver(true)});
}

std::string fault_of_message(const Outcomes& outcomes) {
  for (const std::vector<int>& outcome : outcomes) {
    if (outcome.size() != 3) return "a race";
    if (outcome[0] != 0 && outcome[0] != 5) return "not the message";
    if (outcome[1] + outcome[2] > 1) return "pulled twice";
  }
  return "";
}

TEST(Rget, OneThreadPullsAndBothBuffersAreFreeWhenTold) {
  const Outcomes outcomes = run_message(Defect::none);
  EXPECT_EQ(fault_of_message(outcomes), "");
  EXPECT_TRUE(outcomes.contains({5, 1, 0}));
  EXPECT_TRUE(outcomes.contains({5, 0, 1}));
}

// ---- What is planted

void expect_found(Defect defect, const char* name) {
  std::string fault;
  for (const unsigned slots : {1u, 2u})
    for (const unsigned looks : {1u, 2u})
      if (fault.empty()) fault = fault_of_ring(run_ring(slots, looks, defect));
  if (fault.empty()) fault = fault_of_message(run_message(defect));
  std::cout << "  " << name << ": " << (fault.empty() ? "NOT FOUND" : fault) << '\n';
  EXPECT_NE(fault, "") << name;
}

TEST(PlantedInRget, AreFound) {
  expect_found(Defect::head_relaxed, "HEAD relaxed");
  expect_found(Defect::head_first, "HEAD before the line");
  expect_found(Defect::head_unread, "HEAD without a number");
  expect_found(Defect::taken_relaxed, "TAKEN relaxed");
  expect_found(Defect::taken_first, "TAKEN before the line is read");
  expect_found(Defect::taken_unread, "TAKEN not looked at");
  expect_found(Defect::rung_late, "the bell cleared behind the look");
  expect_found(Defect::unrung, "a sender that does not ring");
  expect_found(Defect::no_fence_of_sender, "no fence before the look whether the thread sleeps");
  expect_found(Defect::no_fence_of_thread, "no fence before the thread's last look");
  expect_found(Defect::asleep_unread, "a sender that wakes nobody");
  expect_found(Defect::fin_relaxed, "FIN relaxed");
  expect_found(Defect::fin_first, "FIN before the pull");
  expect_found(Defect::fin_asked_relaxed, "FIN asked for relaxed");
}

}  // namespace
}  // namespace penstock::explorer
