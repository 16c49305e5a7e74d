// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "group/window_group.hpp"

namespace penstock::group {

// Collective over the window's group. Throws base::Error(communicator) where it reaches beyond
// MPI_COMM_WORLD, base::Error(mpi).
std::unique_ptr<WindowGroup> open_window_group(MPI_Win window);

// Which members of the window's group the processes of `group` are. Throws base::Error(argument)
// where one is none.
std::vector<int> members_of(MPI_Win window, MPI_Group group);

}  // namespace penstock::group
