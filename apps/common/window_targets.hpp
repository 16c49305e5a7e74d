// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <penstock/window.hpp>
#include <vector>

#include "common/side_buffers.hpp"

namespace penstock::apps {

// Where each message lies in the window of the neighbour that it goes to, which is the memory of
// its `in`: in values. Collective among neighbours.
std::vector<MPI_Aint> target_displacements(const std::vector<Neighbour>& neighbours,
                                           const SideBuffers& in);
// Who they are, each once.
Group group_of(const std::vector<Neighbour>& neighbours);

}  // namespace penstock::apps
