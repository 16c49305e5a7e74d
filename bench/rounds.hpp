// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "device.hpp"

namespace penstock::bench {

// They take their rounds in turns, so that what else the machine does meets all of them.
using Sides = std::vector<std::unique_ptr<Side>>;

// What all ranks together take is what the slowest one takes. Collective.
double slowest(double value);

}  // namespace penstock::bench
