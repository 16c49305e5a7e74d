// SPDX-License-Identifier: Apache-2.0
#include "protocol/explorer/port.hpp"

namespace penstock::explorer {

namespace {

// What of an epoch's parts is left, as the shipped port packs it: from `first` on, up to but without `end`.
struct PartsLeft {
  static Value pack(Epoch epoch, unsigned first, unsigned end) {
    return static_cast<Value>(epoch * 16 + first * 4 + end);
  }
  static bool of(std::uint64_t left, Epoch epoch) { return left / 16 == epoch; }
  static unsigned first(std::uint64_t left) { return static_cast<unsigned>(left / 4 % 4); }
  static unsigned end(std::uint64_t left) { return static_cast<unsigned>(left % 4); }
  static bool none(std::uint64_t left) { return first(left) >= end(left); }
};

}  // namespace

bool Step::replay(Value* value) {
  if (position < log.size) {
    *value = log.values[position++];
    return true;
  }
  *value = 0;
  if (performed) stopped = true;
  if (stopped) return true;
  if (log.size == max_accesses) {
    fail("a call makes more accesses than the explorer can record");
    return stopped = true;
  }
  performed = true;
  return false;
}

void Step::record(Value value) {
  log.values[log.size++] = value;
  ++position;
}

void Step::note(const std::string& what) {
  if (text != nullptr) *text += (text->empty() ? "" : "; ") + what;
}

bool Step::has_place(unsigned location) {
  if (location == no_place) fail("an access to a word that this kind of pair does not have");
  return location != no_place;
}

Value Step::access_load(unsigned location, Order order, const char* name) {
  Value value;
  if (replay(&value)) return value;
  if (!has_place(location)) return 0;
  choices = memory.choices(thread, location, order);
  value = memory.load(thread, location, order, choice);
  note(std::string("reads ") + name + " = " + std::to_string(value) + (choice > 0 ? " (stale)" : ""));
  record(value);
  return value;
}

void Step::access_store(unsigned location, Order order, std::uint64_t value, bool grows, const char* name) {
  Value ignored;
  if (replay(&ignored)) return;
  if (!has_place(location)) return;
  note(std::string("stores ") + name + " = " + std::to_string(value));
  if (value >= untouched) fail("a word outgrew the model");
  // Nothing yet may be said: the first wait of a deferred ring stores FIN of epoch 0.
  if (grows && value <= memory.newest(location) && value != 0) fail("a word did not grow");
  if (!memory.store(thread, location, order, static_cast<Value>(value))) fail("two unordered stores to one word");
  record(0);
}

Value Step::access_exchange(unsigned location, Order order, std::uint64_t value, const char* name) {
  Value previous;
  if (replay(&previous)) return previous;
  if (!has_place(location)) return 0;
  // Where one side gives up the next epoch, the other may still claim the one before.
  if (value < memory.newest(location) && !spec.may_close) fail("a word did not grow");
  previous = memory.exchange(thread, location, order, static_cast<Value>(value));
  note(std::string("exchanges ") + name + " " + std::to_string(previous) + " for " + std::to_string(value));
  record(previous);
  return previous;
}

void Step::access_fence(Order order) {
  Value ignored;
  if (replay(&ignored)) return;
  memory.fence(thread, order);
  note(order == Order::acquire ? "acquire fence" : "fence");
  record(0);
}

// Takes the first or the last part that is left.
bool Step::access_take(unsigned location, bool first, unsigned* part) {
  Value taken;  // the part's number and one
  if (!replay(&taken)) {
    const Value left = memory.newest(location);
    if (PartsLeft::none(left)) {
      taken = 0;
      memory.load(thread, location, Order::acquire, 0);
      note("finds no part left");
    } else {
      taken = static_cast<Value>(first ? PartsLeft::first(left) + 1 : PartsLeft::end(left));
      memory.exchange(thread, location, Order::acq_rel, static_cast<Value>(first ? left + 4 : left - 1));
      note("takes part " + std::to_string(taken));
    }
    record(taken);
  }
  *part = taken - 1u;
  return taken != 0;
}

namespace {

constexpr Value well = 0, refused = 1, misplaced = 2, from_new_use = 3;

}  // namespace

// Where a side may close, a copy is a step of its own, so that the other side can be released right before it. A copy
// of which only a part comes before the new use of the buffer reads and does nothing that one wholly after it does not.
// The new use is a relaxed store, and the receiver's loads from it are relaxed: what a seqlock asks of its data.
Value Step::access_copy(Side by) {
  Value how = well;
  if (!spec.may_close || replay(&how)) return how;
  const Side other = by == Side::sender ? Side::receiver : Side::sender;
  const unsigned reused = places.reused[static_cast<unsigned>(other)];
  if (spec.copy_may_fail) choices = 2;
  if (choice == 1) {
    how = refused;
  } else if (memory.newest(reused) != 0) {
    how = by == Side::sender ? misplaced : from_new_use;
    if (by == Side::receiver) memory.load(thread, reused, Order::relaxed, 0);
  }
  constexpr const char* words[] = {"copies now", "fails to copy", "copies into a buffer in new use",
                                   "copies from a buffer in new use"};
  note(words[how]);
  record(how);
  return how;
}

void Step::move(Value how, unsigned line) {
  if (how == well) write(places.incoming[line], read(places.outgoing[line]));
  if (how == from_new_use) write(places.incoming[line], garbage);
  fate.failed = fate.failed || how == refused;
  fate.misplaced = fate.misplaced || how == misplaced;
}

void Step::copy(Side by, unsigned line) {
  move(access_copy(by), line);
}

void Step::copy_all(Side by) {
  const Value how = access_copy(by);
  for (unsigned line = 0; line < spec.lines; ++line) move(how, line);
}

Value Step::read(unsigned cell) {
  Value value = 0;
  if (live() && !memory.read_cell(thread, cell, &value)) fail("data race: a read is not ordered after a write");
  return value;
}

void Step::write(unsigned cell, Value value) {
  if (live() && !memory.write_cell(thread, cell, value)) fail("data race: a write is not ordered after another access");
}

void Step::count_copy() {
  if (!live()) return;
  note("copies");
  if (++copied != epoch) fail("an epoch's message was not copied exactly once");
}

bool ModelPort::offer(unsigned word, Epoch epoch, bool sender) {
  step_.access_store(word, Order::release, PartsLeft::pack(epoch, 0, lines()), false, "parts");
  step_.count_copy();
  return copy_parts(word, sender) < lines();
}

bool ModelPort::help(unsigned word, Epoch epoch, bool sender) {
  const std::uint64_t left = step_.access_load(word, Order::acquire, "parts");
  return PartsLeft::of(left, epoch) && !PartsLeft::none(left) && copy_parts(word, sender) > 0;
}

unsigned ModelPort::copy_parts(unsigned word, bool sender) {
  unsigned taken = 0, part = 0;
  for (; !step_.fate.failed && step_.access_take(word, sender, &part); ++taken)
    step_.copy(sender ? Side::sender : Side::receiver, part);
  return taken;
}

}  // namespace penstock::explorer
