// SPDX-License-Identifier: Apache-2.0
// Turns what was decided at match into the plan class that has it compiled in.
#pragma once

#include <memory>

#include "peer/pair_end.hpp"
#include "transport/message.hpp"
#include "transport/plan.hpp"

namespace penstock::peer {

enum class Path : std::uint32_t {
  ring,        // small, and buffered sends of every size
  rendezvous,  // one copy, by whichever side waits
  // A ring whose slots hold the whole message: neither side can reach the other's buffer, or the
  // runs there are too short to.
  staged
};

// Lines of this size for a message of so many bytes; one of those that make_plan knows.
std::uint32_t line_bytes_for(std::size_t message_bytes) noexcept;

// Where it throws, the pair is as it was.
std::unique_ptr<transport::Plan> make_plan(transport::Direction direction, Path path,
                                           protocol::Mode mode, Pair&& pair);

}  // namespace penstock::peer
