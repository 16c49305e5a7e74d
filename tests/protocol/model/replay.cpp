// SPDX-License-Identifier: Apache-2.0
#include "protocol/model/replay.hpp"

namespace penstock::explorer {

Value Replay::load(unsigned place, Order order, const char* name) {
  return step("reads ", name, [&] {
    choices = memory_.choices(thread, place, order);
    return memory_.load(thread, place, order, choice_);
  });
}

void Replay::store(unsigned place, Order order, unsigned value, const char* name) {
  step("stores ", name, [&] {
    if (!memory_.store(thread, place, order, static_cast<Value>(value)))
      fail("two unordered stores to one word");
    return static_cast<Value>(value);
  });
}

Value Replay::exchange(unsigned place, Order order, unsigned value, const char* name) {
  return step("exchanges ", name,
              [&] { return memory_.exchange(thread, place, order, static_cast<Value>(value)); });
}

void Replay::fence(Order order) {
  step("fence", "", [&] {
    memory_.fence(thread, order);
    return Value{0};
  });
}

Value Replay::choose(unsigned ways, const char* name) {
  return step("chooses ", name, [&] {
    choices = ways;
    return static_cast<Value>(choice_);
  });
}

}  // namespace penstock::explorer
