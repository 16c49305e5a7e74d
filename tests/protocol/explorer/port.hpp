// SPDX-License-Identifier: Apache-2.0
// The port through which the explorer executes src/protocol. A call of a step function is cut at its accesses to shared
// memory: the call is run again from its start for each further access, the values read before are replayed, one
// new access is performed on the model, and whatever the function does after it up to the next access belongs to the
// same step (plain data needs no cut: two unordered accesses are a race in whichever order they run).
#pragma once

#include <array>
#include <string>

#include "protocol/explorer/pair.hpp"

namespace penstock::explorer {

constexpr unsigned max_accesses = 24;  // of one call

// What a call of a step function has done so far.
struct CallLog {
  std::uint8_t size = 0;
  std::array<Value, max_accesses> values{};
};

// What has become of an end's copies.
struct CopyFate {
  bool failed = false;     // one was refused
  bool misplaced = false;  // one of the present epoch went into a buffer that its owner had taken back
};

// One run of a call: where it stands, and what became of it.
struct Step {
  Memory& memory;
  const PairSpec& spec;
  const PairPlaces& places;
  unsigned thread;
  CallLog& log;
  unsigned choice;       // which of the readable values a load takes
  std::uint8_t& copied;  // how often the pair's message has been moved, over all epochs
  Epoch epoch;           // of the call
  CopyFate fate;
  std::string* text = nullptr;  // where to describe the accesses, when a failure is printed

  unsigned position = 0;
  unsigned choices = 1;
  bool performed = false;
  bool stopped = false;
  const char* fault = nullptr;

  bool live() const { return !stopped && (performed || log.size == 0); }

  Value access_load(unsigned location, Order order, const char* name);
  void access_store(unsigned location, Order order, std::uint64_t value, bool grows, const char* name);
  Value access_exchange(unsigned location, Order order, std::uint64_t value, const char* name);
  void access_fence(Order order);
  void copy(Side by, unsigned line);
  void copy_all(Side by);
  bool access_take(unsigned location, bool first, unsigned* part);
  Value read(unsigned cell);
  void write(unsigned cell, Value value);
  void count_copy();
  void note(const std::string& what);
  void fail(const char* what) {
    if (fault == nullptr) fault = what;
  }

 private:
  bool replay(Value* value);
  Value access_copy(Side by);
  void move(Value how, unsigned line);
  void record(Value value);
  bool has_place(unsigned location);
};

// The port proper. Defects are planted by deriving from it (defects.hpp).
template <bool exchange_works, bool closes>
class ModelPort {
 public:
  static constexpr bool native_atomics = exchange_works;
  static constexpr bool may_close = closes;

  explicit ModelPort(Step& step) : step_(step) {}

  template <Order order>
  std::uint64_t load(Word word) {
    return step_.access_load(place(word), order, name_of(word));
  }
  template <Order order>
  void store(Word word, std::uint64_t value) {
    step_.access_store(place(word), order, value, true, name_of(word));
  }
  std::uint64_t exchange(Word word, std::uint64_t value) { return exchange_with<Order::acq_rel>(word, value); }
  template <Order order>
  void fence() {
    step_.access_fence(order);
  }

  void fill(unsigned slot, std::uint32_t line) {
    step_.write(step_.places.slots[index(slot, line)], step_.read(step_.places.outgoing[line]));
  }
  void drain(unsigned slot, std::uint32_t line) {
    step_.write(step_.places.incoming[line], step_.read(step_.places.slots[index(slot, line)]));
    if (line == 0) step_.count_copy();
  }
  std::uint64_t load_flag(unsigned slot, std::uint32_t line) { return load_flag_with<Order::acquire>(slot, line); }
  void store_flag(unsigned slot, std::uint32_t line, std::uint64_t flag) {
    store_flag_with<Order::release>(slot, line, flag);
  }
  void push() { copy(Side::sender); }
  void pull() { copy(Side::receiver); }
  bool copy_failed() const { return step_.fate.failed; }
  // By the user, at a moment of the test's choice.
  void take_buffer_back(Side side) {
    step_.access_store(step_.places.reused[static_cast<unsigned>(side)], Order::relaxed, 1, false, "into the buffer");
  }

  unsigned slots() const { return step_.spec.slots; }
  std::uint32_t lines() const { return step_.spec.lines; }
  unsigned flag_bits() const { return step_.spec.flag_bits; }
  bool checks_ready() const { return step_.spec.checks_ready; }

 protected:
  template <Order order>
  std::uint64_t exchange_with(Word word, std::uint64_t value) {
    return step_.access_exchange(place(word), order, value, name_of(word));
  }
  template <Order order>
  std::uint64_t load_flag_with(unsigned slot, std::uint32_t line) {
    return step_.access_load(step_.places.flags[index(slot, line)], order, "LINE");
  }
  template <Order order>
  void store_flag_with(unsigned slot, std::uint32_t line, std::uint64_t flag) {
    step_.access_store(step_.places.flags[index(slot, line)], order, flag, false, "LINE");
  }
  Step& step() { return step_; }

 private:
  unsigned place(Word word) const { return step_.places.words[static_cast<unsigned>(word)]; }
  unsigned index(unsigned slot, std::uint32_t line) const { return slot * step_.spec.lines + line; }
  void copy(Side by) {
    step_.copy_all(by);
    step_.count_copy();
  }

  Step& step_;
};

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

// A port whose waiting side helps: the sender takes parts from the front, the receiver from the back, each part once.
// The compare-and-swap loop that takes a part is one access here: an attempt that fails changes nothing.
template <bool exchange_works, bool closes>
class SharingPort : public ModelPort<exchange_works, closes> {
 public:
  using ModelPort<exchange_works, closes>::ModelPort;

  bool push_with_help(Epoch epoch) { return offer(places().pushed_parts, epoch, true); }
  bool pull_with_help(Epoch epoch) { return offer(places().pulled_parts, epoch, false); }
  bool help_push(Epoch epoch) { return help(places().pushed_parts, epoch, false); }
  bool help_pull(Epoch epoch) { return help(places().pulled_parts, epoch, true); }

 private:
  const PairPlaces& places() { return this->step().places; }

  bool offer(unsigned word, Epoch epoch, bool sender) {
    Step& step = this->step();
    step.access_store(word, Order::release, PartsLeft::pack(epoch, 0, this->lines()), false, "parts");
    step.count_copy();
    return copy_parts(word, sender) < this->lines();
  }
  bool help(unsigned word, Epoch epoch, bool sender) {
    const std::uint64_t left = this->step().access_load(word, Order::acquire, "parts");
    return PartsLeft::of(left, epoch) && !PartsLeft::none(left) && copy_parts(word, sender) > 0;
  }
  unsigned copy_parts(unsigned word, bool sender) {
    Step& step = this->step();
    unsigned taken = 0, part = 0;
    for (; !step.fate.failed && step.access_take(word, sender, &part); ++taken)
      step.copy(sender ? Side::sender : Side::receiver, part);
    return taken;
  }
};

}  // namespace penstock::explorer
