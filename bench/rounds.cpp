// SPDX-License-Identifier: Apache-2.0
#include "rounds.hpp"

#include <mpi.h>

#include <chrono>
#include <thread>

namespace penstock::bench {

// Who is ready first sleeps: busy waiting would take the cores from streams that are still at work.
double slowest(double value) {
  MPI_Request all_ready = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &all_ready);
  for (int done = 0; done == 0;) {
    MPI_Test(&all_ready, &done, MPI_STATUS_IGNORE);
    if (done == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  double maximum = 0;
  MPI_Allreduce(&value, &maximum, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return maximum;
}

}  // namespace penstock::bench
