// SPDX-License-Identifier: Apache-2.0
#include "protocol/explorer/port.hpp"

#include "peer/parts.hpp"

namespace penstock::explorer {

namespace {

// The shipped word with two bits a field: the model's values are bytes.
using Parts = peer::PartsWord<2>;

Order order_of(std::memory_order order) {
  if (order == std::memory_order_acquire) return Order::acquire;
  return order == std::memory_order_release ? Order::release : Order::acq_rel;
}

// What Parts asks of an atomic.
struct PartsAtomic {
  ModelPort& port;
  unsigned word;

  std::uint64_t load(std::memory_order order) const {
    return port.load_parts(word, order_of(order));
  }
  void store(std::uint64_t value, std::memory_order order) const {
    port.store_parts(word, order_of(order), value);
  }
  bool compare_exchange_weak(std::uint64_t& seen, std::uint64_t value,
                             std::memory_order order) const {
    return port.swap_parts(word, order_of(order), &seen, value);
  }
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
  if (text != nullptr)
    note(std::string("reads ") + name + " = " + std::to_string(value) +
         (choice > 0 ? " (stale)" : ""));
  record(value);
  return value;
}

void Step::access_store(unsigned location, Order order, std::uint64_t value, bool grows,
                        const char* name) {
  Value ignored;
  if (replay(&ignored)) return;
  if (!has_place(location)) return;
  if (text != nullptr) note(std::string("stores ") + name + " = " + std::to_string(value));
  if (value >= untouched) fail("a word outgrew the model");
  // Nothing yet may be said: the first wait of a deferred ring stores FIN of epoch 0.
  if (grows && value <= memory.newest(location) && value != 0) fail("a word did not grow");
  if (!memory.store(thread, location, order, static_cast<Value>(value)))
    fail("two unordered stores to one word");
  record(0);
}

Value Step::access_exchange(unsigned location, Order order, std::uint64_t value, const char* name) {
  Value previous;
  if (replay(&previous)) return previous;
  if (!has_place(location)) return 0;
  // Where one side gives up the next epoch, the other may still claim the one before.
  if (value < memory.newest(location) && !spec.may_close) fail("a word did not grow");
  previous = memory.exchange(thread, location, order, static_cast<Value>(value));
  if (text != nullptr)
    note(std::string("exchanges ") + name + " " + std::to_string(previous) + " for " +
         std::to_string(value));
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

// A compare-and-swap by who has read `seen` from the word. It succeeds if there is nothing newer;
// else it may read each newer value. One that fails for nothing, or reads `seen` again, changes
// nothing and is left out.
bool Step::access_swap(unsigned location, Order order, std::uint64_t* seen, std::uint64_t value) {
  constexpr Value swapped = 0xff;
  Value found;
  if (!replay(&found)) {
    const unsigned readable = memory.choices(thread, location, order);
    if (readable == 1) {
      if (memory.newest(location) != *seen) fail("a compare-and-swap of what has never been read");
      memory.exchange(thread, location, order, static_cast<Value>(value));
      note("swaps parts " + std::to_string(*seen) + " for " + std::to_string(value));
      found = swapped;
    } else {
      choices = readable - 1;
      found =
          memory.load(thread, location, order == Order::acq_rel ? Order::acquire : order, choice);
      note("finds parts = " + std::to_string(found) + ", swaps nothing");
    }
    record(found);
  }
  if (found == swapped) return true;
  *seen = found;
  return false;
}

namespace {

constexpr Value well = 0, refused = 1, torn = 2, misplaced = 3, from_new_use = 4;

}  // namespace

// Where a side may close, a copy is a step of its own, so that the other side can be released right
// before it. A copy of which only a part comes before the new use of the buffer reads and does
// nothing that one wholly after it does not. The new use is a relaxed store, and the receiver's
// loads from it are relaxed: what a seqlock asks of its data. A copy that fails has moved nothing,
// or some of the data. (From or into a buffer in new use: nothing.)
Value Step::access_copy(Side by) {
  Value how = well;
  if (!spec.may_close || replay(&how)) return how;
  const Side other = by == Side::sender ? Side::receiver : Side::sender;
  const unsigned reused = places.reused[static_cast<unsigned>(other)];
  const bool in_new_use = memory.newest(reused) != 0;
  if (spec.copy_may_fail) choices = in_new_use ? 2 : 3;
  if (choice > 0) {
    how = choice == 1 ? refused : torn;
  } else if (in_new_use) {
    how = by == Side::sender ? misplaced : from_new_use;
    if (by == Side::sender && spec.untouched)
      fail("a buffer was written after its receive had been freed or given up");
    if (by == Side::receiver) memory.load(thread, reused, Order::relaxed, 0);
  }
  constexpr const char* words[] = {"copies now", "fails to copy", "fails in its copy",
                                   "copies into a buffer in new use",
                                   "copies from a buffer in new use"};
  note(words[how]);
  record(how);
  return how;
}

void Step::move(Value how, unsigned line) {
  if (how == well || how == torn) {
    const Value sent = read(places.outgoing[line]);
    write(places.incoming[line], how == well ? sent : garbage);
  }
  if (how == from_new_use) write(places.incoming[line], garbage);
  fate.failed = fate.failed || how == refused || how == torn;
  fate.misplaced = fate.misplaced || how == misplaced;
}

void Step::copy(Side by, unsigned line) {
  move(access_copy(by), line);
}

void Step::copy_all(Side by) {
  const Value how = access_copy(by);
  for (unsigned line = 0; line < spec.lines; ++line) move(how, line);
}

Value Step::access_cell(unsigned cell) {
  Value value = 0;
  if (replay(&value)) return value;
  if (!memory.read_cell(thread, cell, &value))
    fail("data race: a read is not ordered after a write");
  note("reads HEAD");
  record(value);
  return value;
}

Value Step::read(unsigned cell) {
  Value value = 0;
  if (live() && !memory.read_cell(thread, cell, &value))
    fail("data race: a read is not ordered after a write");
  return value;
}

void Step::write(unsigned cell, Value value) {
  if (live() && !memory.write_cell(thread, cell, value))
    fail("data race: a write is not ordered after another access");
}

void Step::count_copy() {
  if (!live()) return;
  note("copies");
  if (++copied != epoch) fail("an epoch's message was not copied exactly once");
}

bool ModelPort::offer(unsigned word, Epoch epoch, Side side) {
  Parts::offer(PartsAtomic{*this, word}, epoch, lines());
  step_.count_copy();
  return take_parts(word, side) < lines();
}

bool ModelPort::help(unsigned word, Epoch epoch, Side side) {
  return Parts::offered(PartsAtomic{*this, word}, epoch) && take_parts(word, side) > 0;
}

bool ModelPort::refuse_help(Epoch epoch) {
  return step_.spec.shares && Parts::refuse(PartsAtomic{*this, step_.places.pulled_parts}, epoch);
}

unsigned ModelPort::take_parts(unsigned word, Side side) {
  const auto copy = [&](std::uint64_t part) { step_.copy(side, static_cast<unsigned>(part)); };
  const auto failed = [&] { return step_.fate.failed; };
  const PartsAtomic left{*this, word};
  return side == Side::sender ? Parts::take<Side::sender>(left, copy, failed)
                              : Parts::take<Side::receiver>(left, copy, failed);
}

}  // namespace penstock::explorer
