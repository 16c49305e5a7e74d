/* SPDX-License-Identifier: Apache-2.0
 *
 * Two ranks hold the halves of a matrix side by side. Each step a rank sends the column beside its
 * neighbour, and receives the neighbour's into a column of ghosts: a datatype says where they lie,
 * and nobody packs.
 *
 *   mpiexec -n 2 ./columns_c
 */
#include <penstock/penstock.h>
#include <stdio.h>

enum { rows = 100, columns = 62, steps = 10 }; /* the first and the last column are ghosts */

typedef struct {
  double cells[rows][columns];
  int rank, edge, ghosts; /* edge, ghosts: columns */
  int steps, wrong;
} Half;

/* Ends the job with Penstock's own explanation. MPI's default error handler would end it earlier,
 * with less text. */
static void check(int code) {
  char text[512];
  if (code == MPI_SUCCESS) return;
  PST_Last_error(text, sizeof text);
  fprintf(stderr, "columns_c: %s\n", text);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static double value(int rank, int step, int row) {
  return 1000.0 * rank + 10.0 * row + step;
}

/* These two run on the stream, before and behind the messages of a step. */
static void set_edge(void* argument) {
  Half* const half = argument;
  for (int row = 0; row < rows; ++row)
    half->cells[row][half->edge] = value(half->rank, half->steps, row);
}
static void check_ghosts(void* argument) {
  Half* const half = argument;
  for (int row = 0; row < rows; ++row)
    half->wrong += half->cells[row][half->ghosts] != value(1 - half->rank, half->steps, row);
  ++half->steps;
}

static void exchange(Half* half) {
  PST_Stream stream;
  PST_Queue queue;
  MPI_Datatype column;
  MPI_Request requests[2];
  const int other = 1 - half->rank;

  check(PST_Stream_create(&stream));
  check(PST_Queue_init(&queue, PST_QUEUE_HOST, &stream));
  /* A column's next element is a whole row further on. */
  MPI_Type_vector(rows, 1, columns, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  check(MPI_Send_init(&half->cells[0][half->edge], 1, column, other, 0, MPI_COMM_WORLD,
                      &requests[0]));
  check(MPI_Recv_init(&half->cells[0][half->ghosts], 1, column, other, 0, MPI_COMM_WORLD,
                      &requests[1]));
  MPI_Type_free(&column); /* the requests keep what they need of it */
  check(PST_Matchall(2, requests, MPI_STATUSES_IGNORE));

  for (int step = 0; step < steps; ++step) {
    check(PST_Stream_launch(stream, set_edge, half));
    check(PST_Enqueue_runall(queue, 2, requests));
    check(PST_Stream_launch(stream, check_ghosts, half));
  }
  check(PST_Queue_wait(queue));

  check(MPI_Request_free(&requests[0]));
  check(MPI_Request_free(&requests[1]));
  check(PST_Queue_free(&queue));
  check(PST_Stream_free(&stream));
}

int main(int argc, char** argv) {
  static Half half;
  int size;
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &half.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != 2) {
    if (half.rank == 0) fprintf(stderr, "two ranks have a half each: mpiexec -n 2 %s\n", argv[0]);
    MPI_Finalize();
    return 1;
  }
  half.edge = half.rank == 0 ? columns - 2 : 1;
  half.ghosts = half.rank == 0 ? columns - 1 : 0;
  exchange(&half);
  printf("rank %d: %d ghosts, %d of them wrong\n", half.rank, rows * half.steps, half.wrong);
  MPI_Finalize();
  return half.wrong == 0 && half.steps == steps ? 0 : 1;
}
