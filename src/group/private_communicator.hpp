// SPDX-License-Identifier: Apache-2.0
// A communicator with the processes of MPI_COMM_WORLD for messages of ours. Made by PMPI, so that
// the recorder does not count it; its errors come back as codes and never reach the program's error
// handler.
#pragma once

#include <mpi.h>

#include "base/no_copy.hpp"

namespace penstock::group {

class PrivateCommunicator : private base::NoCopy {
 public:
  PrivateCommunicator();   // collective over MPI_COMM_WORLD; throws base::Error(mpi)
  ~PrivateCommunicator();  // collective, while MPI works

  MPI_Comm get() const noexcept { return comm_; }
  // It is not freed: a collective operation on it has not ended, and Open MPI goes on with such a
  // one although its communicator is gone.
  void leave_to_mpi() noexcept { left_to_mpi_ = true; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  bool left_to_mpi_ = false;
};

}  // namespace penstock::group
