// SPDX-License-Identifier: Apache-2.0
#include "protocol/team/state.hpp"

namespace penstock::explorer::teams {

Value Hands::load(unsigned place, Order order, const char* name) {
  return step("reads ", name, [&] {
    choices = state.memory.choices(thread, place, order);
    return state.memory.load(thread, place, order, choice_);
  });
}

void Hands::store(unsigned place, Order order, unsigned value, const char* name) {
  step("stores ", name, [&] {
    if (!state.memory.store(thread, place, order, static_cast<Value>(value)))
      fail("two unordered stores to one word");
    return static_cast<Value>(value);
  });
}

Value Hands::exchange(unsigned place, Order order, unsigned value, const char* name) {
  return step("exchanges ", name, [&] {
    return state.memory.exchange(thread, place, order, static_cast<Value>(value));
  });
}

void Hands::fence(Order order) {
  step("fence", "", [&] {
    state.memory.fence(thread, order);
    return Value{0};
  });
}

Value Hands::read_own(unsigned part) {
  return step("reads own part ", "", [&] {
    Value value = 0;
    if (!state.memory.read_cell(thread, part, &value)) fail("data race on this end's buffer");
    return value;
  });
}

void Hands::write_own(unsigned part, Value value) {
  step("writes own part ", "", [&] {
    if (!state.memory.write_cell(thread, part, value)) fail("data race on this end's buffer");
    return value;
  });
}

}  // namespace penstock::explorer::teams
