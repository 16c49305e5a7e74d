// SPDX-License-Identifier: Apache-2.0
// A call of one thread, cut at its accesses to the memory: it is run again from its beginning for
// each of them. What it has read is replayed; then it makes one access more, and goes on without
// effect. What the call changes of its thread counts when it has run to its end.
#pragma once

#include <string>

#include "protocol/model/memory.hpp"

namespace penstock::explorer {

constexpr unsigned most_accesses = 32;  // of one call

struct Log {
  std::uint8_t size = 0;
  std::array<Value, most_accesses> values{};
};

class Replay {
 public:
  // `text`, where there is one, tells of the new access.
  Replay(Memory& memory, unsigned number, Log& log, unsigned choice, std::string* text)
      : thread(number),
        memory_(memory),
        log_(log),
        choice_(choice),
        text_(text),
        fresh_(log.size == 0) {}

  Value load(unsigned place, Order order, const char* name);
  void store(unsigned place, Order order, unsigned value, const char* name);
  // For words of several writers.
  Value exchange(unsigned place, Order order, unsigned value, const char* name);
  template <class Change>
  Value modify(unsigned place, Order order, Change change, const char* name) {  // the value before
    return step("changes ", name, [&] {
      const Value before = memory_.newest(place);
      memory_.exchange(thread, place, order, static_cast<Value>(change(before)));
      return before;
    });
  }
  void fence(Order order);
  // One of so many things that may happen, from 0 on.
  Value choose(unsigned ways, const char* name);
  void fail(const char* what) {
    if (live() && fault == nullptr) fault = what;
  }
  // Whether what the call does now is done for the first time.
  bool live() const { return !stopped && (performed_ || fresh_); }

  const unsigned thread;
  unsigned choices = 1;
  bool stopped = false;
  const char* fault = nullptr;

 protected:
  template <class Access>
  Value step(const char* verb, const char* name, Access access) {
    if (position_ < log_.size) return log_.values[position_++];
    if (performed_ || log_.size == most_accesses) stopped = true;
    if (stopped) return 0;
    performed_ = true;
    const Value value = access();
    log_.values[log_.size++] = value;
    ++position_;
    if (text_ != nullptr) *text_ += std::string(verb) + name + " " + std::to_string(value) + "; ";
    return value;
  }

  Memory& memory_;

 private:
  Log& log_;
  unsigned choice_;
  std::string* text_;
  unsigned position_ = 0;
  bool performed_ = false;
  bool fresh_;
};

}  // namespace penstock::explorer
