// SPDX-License-Identifier: Apache-2.0
// L21 as threads: one end, or both, is released from a wait at a moment of chance, while the other
// may be copying.
#pragma once

#include "protocol/threads/run.hpp"

namespace penstock::threads {

// One pair; each end runs epochs until it is released, or finds the other gone. Empty, or what went
// wrong.
std::string run_released(const PairSpec& kind, const Setting& setting);

}  // namespace penstock::threads
