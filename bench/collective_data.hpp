// SPDX-License-Identifier: Apache-2.0
// What stands in the buffers of a collective before it, and must stand there after it.
#pragma once

#include <vector>

#include "traffic.hpp"

namespace penstock::bench {

// A block that this rank gives. Bytes depend on the rank, on their place and, where that makes a
// difference, on whom they are for.
std::vector<std::byte> given_block(Kind kind, const Traffic& traffic, const Traffic::Part& block);

// A block that this rank gets.
std::vector<std::byte> expected_block(Kind kind, const Traffic& traffic,
                                      const Traffic::Part& block);

}  // namespace penstock::bench
