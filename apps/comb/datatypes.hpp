// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comb/mesh.hpp"
#include "common/datatype_exchange.hpp"

namespace penstock::comb {

// Zones and ghosts of all variables as they lie in `values`.
apps::MessagesInPlace messages_in_place(const Mesh& mesh, double* values,
                                        const std::vector<apps::Neighbour>& neighbours);

}  // namespace penstock::comb
