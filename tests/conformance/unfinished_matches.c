/* SPDX-License-Identifier: Apache-2.0
 *
 * Ends with thousands of matches under way, of which the peers know nothing: by MPI_Finalize alone,
 * or ("ended") by PST_Finalize before that. Rank 0 hands sends to match that nobody receives, the
 * other ranks receives whose sends never come. The second argument says how many, if not all. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { most = 20000 };

static int value;
static MPI_Request requests[most];

#ifdef __SANITIZE_ADDRESS__
/* Matches that have not ended leave their requests with MPI: LeakSanitizer asks this function. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void) {
  return 1;
}
#endif

int main(int argc, char** argv) {
  const int ended = argc > 1 && strcmp(argv[1], "ended") == 0;
  const int wanted = argc > 2 ? atoi(argv[2]) : most;
  const int count = wanted < most ? wanted : most;
  int i, matched;
  MPI_Request matching;
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  check(!PST_Init(), "PST_Init");
  for (i = 0; i < count; ++i) {
    if (rank == 0)
      MPI_Send_init(&value, 1, MPI_INT, size - 1, i, MPI_COMM_WORLD, &requests[i]);
    else
      MPI_Recv_init(&value, 1, MPI_INT, 0, count + i, MPI_COMM_WORLD, &requests[i]);
  }
  check(!PST_Imatchall(count, requests, &matching), "PST_Imatchall");
  check(!PST_Is_matched(requests[0], &matched) && !matched, "nothing matches");
  if (ended) {
    PST_Error kind = PST_ERROR_NONE;
    check(!PST_Finalize(), "PST_Finalize");
    PST_Error_kind(MPI_Wait(&matching, MPI_STATUS_IGNORE), &kind);
    check(kind == PST_ERROR_NOT_MATCHED, "MPI_Wait for matches that PST_Finalize has ended");
  }
  MPI_Finalize();
  if (rank == 0) printf("unfinished matches: passed\n");
  return EXIT_SUCCESS;
}
