/* SPDX-License-Identifier: Apache-2.0
 *
 * Two ranks count to 2000 together: each adds 1 to a number and sends it to the other. All of it is
 * enqueued at once; the streams do the rest, and the host waits once.
 *
 *   mpiexec -n 2 ./ping_pong_c
 */
#include <penstock/penstock.h>
#include <stdio.h>

/* Ends the job with Penstock's own explanation. MPI's default error handler would end it earlier,
 * with less text. */
static void check(int code) {
  char text[512];
  if (code == MPI_SUCCESS) return;
  PST_Last_error(text, sizeof text);
  fprintf(stderr, "ping_pong_c: %s\n", text);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void add_one(void* number) {
  ++*(long*)number;
}

static long count_together(int rank) {
  PST_Stream stream;
  PST_Queue queue;
  MPI_Request requests[2];
  long number = 0;

  check(PST_Stream_create(&stream));
  check(PST_Queue_init(&queue, PST_QUEUE_HOST, &stream));
  check(MPI_Send_init(&number, 1, MPI_LONG, 1 - rank, 0, MPI_COMM_WORLD, &requests[0]));
  check(MPI_Recv_init(&number, 1, MPI_LONG, 1 - rank, 0, MPI_COMM_WORLD, &requests[1]));
  check(PST_Matchall(2, requests, MPI_STATUSES_IGNORE));

  for (int round = 0; round < 2000; ++round) {
    const int sends = round % 2 == rank;
    if (sends) check(PST_Stream_launch(stream, add_one, &number));
    check(PST_Enqueue_run(queue, &requests[sends ? 0 : 1]));
  }
  check(PST_Queue_wait(queue));

  check(MPI_Request_free(&requests[0]));
  check(MPI_Request_free(&requests[1]));
  check(PST_Queue_free(&queue));
  check(PST_Stream_free(&stream));
  return number;
}

int main(int argc, char** argv) {
  int rank, size;
  long number;
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != 2) {
    if (rank == 0) fprintf(stderr, "two ranks play: mpiexec -n 2 %s\n", argv[0]);
    MPI_Finalize();
    return 1;
  }
  number = count_together(rank);
  printf("rank %d counted to %ld\n", rank, number);
  MPI_Finalize();
  return number == 2000 ? 0 : 1;
}
