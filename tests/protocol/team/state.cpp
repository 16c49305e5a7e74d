// SPDX-License-Identifier: Apache-2.0
#include "protocol/team/state.hpp"

namespace penstock::explorer::teams {

Value Hands::read_own(unsigned part) {
  return step("reads own part ", "", [&] {
    Value value = 0;
    if (!memory_.read_cell(thread, part, &value)) fail("data race on this end's buffer");
    return value;
  });
}

void Hands::write_own(unsigned part, Value value) {
  step("writes own part ", "", [&] {
    if (!memory_.write_cell(thread, part, value)) fail("data race on this end's buffer");
    return value;
  });
}

}  // namespace penstock::explorer::teams
