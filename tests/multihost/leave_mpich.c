// SPDX-License-Identifier: Apache-2.0
// Ends programs on several hosts without MPICH's own MPI_Finalize. Over UCX's tcp (MPICH 4.0.2, UCX 1.13.1) that hangs
// now and then, in any program: a rank that still takes leave of its peers needs their progress, and they make none, as
// they wait in the launcher's barrier already. What the library does in MPI_Finalize is done by then.
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <time.h>

int PMPI_Finalize(void) {
  MPI_Request request;
  const struct timespec pause = {0, 100000};
  PMPI_Ibarrier(MPI_COMM_WORLD, &request);
  for (int done = 0; !done; nanosleep(&pause, NULL)) PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
  return MPI_SUCCESS;
}
