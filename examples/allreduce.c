/* SPDX-License-Identifier: Apache-2.0
 *
 * Newton's iteration for the root of a sum that the ranks hold parts of: in each step the stream
 * adds up the parts of all ranks and goes on with what comes of it. The host enqueues all steps at
 * once and waits once.
 *
 *   mpiexec -n 2 ./allreduce_c
 */
#include <penstock/penstock.h>
#include <stdio.h>

enum { steps = 60 };

/* Rank r has the parts of x * x * x - 8 * (r + 1) and of its derivative, at x. */
struct state {
  double x;
  double sums[2];
  int rank;
};

/* Ends the job with Penstock's own explanation. MPI's default error handler would end it earlier,
 * with less text. */
static void check(int code) {
  char text[512];
  if (code == MPI_SUCCESS) return;
  PST_Last_error(text, sizeof text);
  fprintf(stderr, "allreduce_c: %s\n", text);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void find_parts(void* argument) {
  struct state* const own = argument;
  own->sums[0] = own->x * own->x * own->x - 8.0 * (own->rank + 1);
  own->sums[1] = 3.0 * own->x * own->x;
}

static void take_step(void* argument) {
  struct state* const own = argument;
  own->x -= own->sums[0] / own->sums[1];
}

static double find_root(int rank) {
  PST_Stream stream;
  PST_Queue queue;
  MPI_Request sum;
  struct state own = {10.0, {0, 0}, rank};

  check(PST_Stream_create(&stream));
  check(PST_Queue_init(&queue, PST_QUEUE_HOST, &stream));
  check(PST_Allreduce_init(MPI_IN_PLACE, own.sums, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD,
                           MPI_INFO_NULL, &sum));
  check(PST_Match(&sum, MPI_STATUS_IGNORE));

  for (int step = 0; step < steps; ++step) {
    check(PST_Stream_launch(stream, find_parts, &own));
    check(PST_Enqueue_run(queue, &sum)); /* the stream waits for all ranks, the host for nobody */
    check(PST_Stream_launch(stream, take_step, &own));
  }
  check(PST_Queue_wait(queue));

  check(PST_Request_free(&sum));
  check(PST_Queue_free(&queue));
  check(PST_Stream_free(&stream));
  return own.x;
}

int main(int argc, char** argv) {
  int rank, size;
  double root, missed;
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  root = find_root(rank);
  missed = root * root * root - 4.0 * (size + 1); /* the mean of 8, 16 ... 8 * size */
  printf("rank %d found %.12f, whose cube misses by %.1e\n", rank, root, missed);
  MPI_Finalize();
  return missed < 1e-9 && missed > -1e-9 ? 0 : 1;
}
