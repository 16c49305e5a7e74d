/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs with a PENSTOCK_TIMEOUT that is over at once. The last rank begins the library's end only
 * when the others have left it without that rank; after that MPI works as before, and ends. */
#include <mpi.h>
#include <stdlib.h>

#include "check.h"

int main(int argc, char** argv) {
  int i, others = 0, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  check(!PST_Init(), "PST_Init");
  if (rank == size - 1) {
    for (i = 0; i < size - 1; ++i) {
      int word = 0;
      MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      others += word;
    }
    check(others == size - 1, "all others have ended");
    check(!PST_Finalize(), "PST_Finalize of the last");
  } else {
    const int word = 1;
    check(!PST_Finalize(), "PST_Finalize");
    MPI_Send(&word, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD);
  }
  for (i = 0; i < 100; ++i) {
    check(!MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), "MPI_Allreduce");
    check(sum == size * (size - 1) / 2, "the sum of the ranks");
  }
  MPI_Finalize();
  if (rank == 0) printf("late rank: passed\n");
  return EXIT_SUCCESS;
}
