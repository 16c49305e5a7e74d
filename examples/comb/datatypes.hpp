// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comb/mesh.hpp"
#include "common/mpi_datatype_exchange.hpp"

namespace penstock::comb {

// Zones and ghosts of all variables as they lie in `values`, for MPI to pack and unpack.
examples::MessagesInPlace messages_in_place(const Mesh& mesh, double* values,
                                            const std::vector<examples::Neighbour>& neighbours);

}  // namespace penstock::comb
