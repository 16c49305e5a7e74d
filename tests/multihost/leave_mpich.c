// SPDX-License-Identifier: Apache-2.0
// Ends programs on several hosts without MPICH's own MPI_Finalize. Over UCX's tcp (MPICH 4.0.2,
// UCX 1.13.1) that hangs now and then, in any program: a rank that still takes leave of its peers
// needs their progress, and they make none, as they wait in the launcher's barrier already. What
// the library does in MPI_Finalize is done by then.
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// A rank that ends without this (PMI, version 1) has failed in the launcher's eyes.
static void tell_launcher(void) {
  static const char message[] = "cmd=finalize\n";
  const char* descriptor = getenv("PMI_FD");
  char answer[64];
  if (descriptor == NULL || write(atoi(descriptor), message, strlen(message)) < 0) return;
  if (read(atoi(descriptor), answer, sizeof answer) < 0) return;
}

int PMPI_Finalize(void) {
  MPI_Request request;
  const struct timespec pause = {0, 100000};
  PMPI_Ibarrier(MPI_COMM_WORLD, &request);
  for (int done = 0; !done; nanosleep(&pause, NULL)) PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
  tell_launcher();
  return MPI_SUCCESS;
}
