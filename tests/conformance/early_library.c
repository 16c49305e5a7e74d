/* SPDX-License-Identifier: Apache-2.0
 *
 * A library that knows nothing of Penstock: it begins MPI and makes a persistent request as it is
 * loaded. */
#include <mpi.h>
#include <stddef.h>

static int out = 42, in;
static MPI_Request requests[2];

__attribute__((constructor)) static void begin(void) {
  MPI_Init(NULL, NULL);
  MPI_Send_init(&out, 1, MPI_INT, 0, 7, MPI_COMM_SELF, &requests[0]);
  MPI_Recv_init(&in, 1, MPI_INT, 0, 7, MPI_COMM_SELF, &requests[1]);
}

int early_exchange(void);
int early_exchange(void) {
  int i;
  MPI_Startall(2, requests);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  for (i = 0; i < 2; ++i) MPI_Request_free(&requests[i]);
  MPI_Finalize();
  return in == out ? 0 : 1;
}
