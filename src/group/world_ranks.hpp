// SPDX-License-Identifier: Apache-2.0
// The members of a communicator as ranks in MPI_COMM_WORLD.
#pragma once

#include <mpi.h>

#include <vector>

namespace penstock::group {

struct Members {
  // In the order of the communicator's ranks; not_in_world for processes outside MPI_COMM_WORLD.
  std::vector<int> local;
  std::vector<int> remote;  // of an intercommunicator
  bool intercommunicator = false;

  bool all_in_world() const;
  // The group that ranks in messages name.
  const std::vector<int>& peers() const { return intercommunicator ? remote : local; }
};

Members members_of(MPI_Comm comm);  // throws base::Error(mpi)

}  // namespace penstock::group
