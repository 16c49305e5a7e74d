// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace penstock::device::host {

struct Command;

// Runs on the stream's worker. Returns true when the command has ended and the next one may run,
// false when it is to be called again. A step must not block, so that one worker serves a wait of
// any length and can be released from it.
using Step = bool (*)(Command& command) noexcept;

// One entry of a host stream. What the operands mean is the step's own matter.
struct Command {
  Step step = nullptr;
  void* object = nullptr;
  void* context = nullptr;
  std::uint64_t value = 0;
};

}  // namespace penstock::device::host
