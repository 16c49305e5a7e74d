// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device.hpp"

namespace penstock::bench {

// Lets a side make its collective of a row and throws where what it brings is wrong in a byte. All
// ranks call it.
void require_right_result(Kind kind, const Row& row, Side& side, Device& device);

}  // namespace penstock::bench
