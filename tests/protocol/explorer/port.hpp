// SPDX-License-Identifier: Apache-2.0
// The port through which the explorer executes src/protocol. A call of a step function is cut at
// its accesses to shared memory: the call is run again from its start for each further access, the
// values read before are replayed, one new access is performed on the model, and whatever the
// function does after it up to the next access belongs to the same step (plain data needs no cut:
// two unordered accesses are a race in whichever order they run).
#pragma once

#include <array>
#include <memory>
#include <string>

#include "protocol/explorer/pair.hpp"
#include "protocol/window.hpp"

namespace penstock::explorer {

constexpr unsigned max_accesses = 24;  // of one call

// What a call of a step function has done so far.
struct CallLog {
  std::uint8_t size = 0;
  std::array<Value, max_accesses> values{};
};

// What has become of an end's copies.
struct CopyFate {
  bool failed = false;  // one was refused
  // One of the present epoch went into a buffer that its owner had taken back.
  bool misplaced = false;
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
  void access_store(unsigned location, Order order, std::uint64_t value, bool grows,
                    const char* name);
  Value access_exchange(unsigned location, Order order, std::uint64_t value, const char* name);
  void access_fence(Order order);
  void copy(Side by, unsigned line);
  void copy_all(Side by);
  bool access_swap(unsigned location, Order order, std::uint64_t* seen, std::uint64_t value);
  // Of data that the call's further way depends on: a step of its own.
  Value access_cell(unsigned cell);
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

// What the model does for each operation of a port (protocol/port.hpp). Defects are planted by
// deriving from it (defects.hpp): they are classes, not template arguments, so that the state
// machines are compiled once for all.
class ModelPort {
 public:
  explicit ModelPort(Step& step) : step_(step) {}
  virtual ~ModelPort() = default;
  ModelPort(const ModelPort&) = delete;

  virtual std::uint64_t load(Word word, Order order) {
    return step_.access_load(place(word), order, name_of(word));
  }
  virtual void store(Word word, Order order, std::uint64_t value) {
    step_.access_store(place(word), order, value, true, name_of(word));
  }
  virtual std::uint64_t exchange(Word word, std::uint64_t value) {
    return exchange_with(Order::acq_rel, word, value);
  }
  virtual void fence(Order order) { step_.access_fence(order); }

  virtual void fill(unsigned slot, std::uint32_t line) {
    const unsigned data = line - first_line();
    const Value value =
        line < first_line() ? head_value() : step_.read(step_.places.outgoing[data]);
    step_.write(step_.places.slots[index(slot, line)], value);
  }
  virtual void drain(unsigned slot, std::uint32_t line) {
    step_.write(step_.places.incoming[line - first_line()],
                step_.read(step_.places.slots[index(slot, line)]));
    if (line == first_line()) step_.count_copy();
  }
  virtual std::uint64_t load_flag(unsigned slot, std::uint32_t line) {
    return load_flag_with(Order::acquire, slot, line);
  }
  virtual void store_flag(unsigned slot, std::uint32_t line, std::uint64_t flag) {
    store_flag_with(Order::release, slot, line, flag);
  }
  virtual void push() { copy(Side::sender); }
  virtual void pull() { copy(Side::receiver); }
  virtual bool copy_failed() const { return step_.fate.failed; }

  // A window's.
  bool stored() const { return step_.spec.stored; }
  protocol::window::Head head() const {
    if (stored()) return {};
    if (step_.spec.moves_directly(step_.epoch)) return {0, step_.spec.lines};
    return {step_.spec.lines, 0};
  }
  protocol::window::Promise promise() const {
    using protocol::window::Promise;
    if ((step_.spec.promised >> step_.epoch & 1) == 0) return Promise::none;
    return step_.spec.checks_ready ? Promise::checked : Promise::taken;
  }
  virtual protocol::window::Head read_head(unsigned slot) {
    const Value value = step_.access_cell(step_.places.slots[index(slot, 0)]);
    return {value & 3u, value >> 2u & 3u};
  }
  virtual void move_part(unsigned part) {
    step_.copy(Side::sender, part);
    if (part == 0) step_.count_copy();
  }
  virtual void store_part(unsigned part, Order order, std::uint64_t value) {
    step_.access_store(step_.places.parts[part], order, value, true, "PART");
  }
  virtual std::uint64_t load_part(unsigned part, Order order) {
    return step_.access_load(step_.places.parts[part], order, "PART");
  }

  // The waiting side helps: peer/parts.hpp over the accesses below.
  virtual bool push_with_help(Epoch epoch) {
    return offer(step_.places.pushed_parts, epoch, Side::sender);
  }
  virtual bool pull_with_help(Epoch epoch) {
    return offer(step_.places.pulled_parts, epoch, Side::receiver);
  }
  virtual bool help_push(Epoch epoch) {
    return help(step_.places.pushed_parts, epoch, Side::receiver);
  }
  virtual bool help_pull(Epoch epoch) {
    return help(step_.places.pulled_parts, epoch, Side::sender);
  }
  virtual bool refuse_help(Epoch epoch);
  virtual std::uint64_t load_parts(unsigned word, Order order) {
    return step_.access_load(word, order, "parts");
  }
  virtual void store_parts(unsigned word, Order order, std::uint64_t value) {
    step_.access_store(word, order, value, false, "parts");
  }
  virtual bool swap_parts(unsigned word, Order order, std::uint64_t* seen, std::uint64_t value) {
    return step_.access_swap(word, order, seen, value);
  }

  virtual unsigned slots() const { return step_.spec.slots; }
  virtual unsigned flag_bits() const { return step_.spec.flag_bits; }
  std::uint32_t lines() const { return step_.spec.slot_lines(); }
  bool checks_ready() const { return step_.spec.checks_ready; }

 protected:
  std::uint64_t exchange_with(Order order, Word word, std::uint64_t value) {
    return step_.access_exchange(place(word), order, value, name_of(word));
  }
  std::uint64_t load_flag_with(Order order, unsigned slot, std::uint32_t line) {
    return step_.access_load(step_.places.flags[index(slot, line)], order, "LINE");
  }
  void store_flag_with(Order order, unsigned slot, std::uint32_t line, std::uint64_t flag) {
    step_.access_store(step_.places.flags[index(slot, line)], order, flag, false, "LINE");
  }
  // By the user, at a moment of the test's choice.
  void take_buffer_back(Side side) {
    step_.access_store(step_.places.reused[static_cast<unsigned>(side)], Order::relaxed, 1, false,
                       "into the buffer");
  }

 private:
  unsigned place(Word word) const { return step_.places.words[static_cast<unsigned>(word)]; }
  unsigned index(unsigned slot, std::uint32_t line) const {
    return slot * step_.spec.slot_lines() + line;
  }
  unsigned first_line() const { return step_.spec.path == Path::window ? 1 : 0; }  // of data
  Value head_value() const { return static_cast<Value>(head().lines | head().parts << 2); }
  void copy(Side by) {
    step_.copy_all(by);
    step_.count_copy();
  }
  bool offer(unsigned word, Epoch epoch, Side side);
  bool help(unsigned word, Epoch epoch, Side side);
  unsigned take_parts(unsigned word, Side side);

  Step& step_;
};

// The port of one run of a call: the model's, or one with a planted defect.
using MakePort = std::unique_ptr<ModelPort> (*)(Step&);

template <class Port>
std::unique_ptr<ModelPort> make_port(Step& step) {
  return std::make_unique<Port>(step);
}

}  // namespace penstock::explorer
