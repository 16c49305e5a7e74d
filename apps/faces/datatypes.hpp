// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/datatype_exchange.hpp"
#include "faces/geometry.hpp"

namespace penstock::faces {

// What is sent as it lies in `values`. What comes is added to points that several messages hold, so
// it goes into buffers.
apps::MessagesInPlace messages_in_place(const Block& block, double* values,
                                        const std::vector<apps::Neighbour>& neighbours);

}  // namespace penstock::faces
