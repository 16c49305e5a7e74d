/* SPDX-License-Identifier: Apache-2.0
 *
 * Two ranks send a counter back and forth, 1000 times, on streams: the whole exchange is enqueued
 * before any of it has to run, and the host waits once. Each rank adds 1 whenever it holds the
 * counter, so that it ends at 2000.
 *
 *   mpiexec -n 2 ./ping_pong_c
 */
#include <penstock/penstock.h>
#include <stdio.h>

enum { rounds = 1000, tag = 7 };

/* Ends the job with Penstock's own explanation. MPI's default error handler would end it earlier,
 * with less text. */
static void check(int code) {
  char text[512];
  if (code == MPI_SUCCESS) return;
  PST_Last_error(text, sizeof text);
  fprintf(stderr, "ping_pong_c: %s\n", text);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void add_one(void* counter) {
  ++*(long*)counter;
}

static void ping(PST_Stream stream, PST_Queue queue, MPI_Request* send, MPI_Request* receive,
                 long* counter) {
  check(PST_Stream_launch(stream, add_one, counter));
  check(PST_Enqueue_start(queue, send));
  check(PST_Enqueue_wait(queue, send));
  check(PST_Enqueue_start(queue, receive));
  check(PST_Enqueue_wait(queue, receive));
}

static void pong(PST_Stream stream, PST_Queue queue, MPI_Request* send, MPI_Request* receive,
                 long* counter) {
  check(PST_Enqueue_start(queue, receive));
  check(PST_Enqueue_wait(queue, receive));
  check(PST_Stream_launch(stream, add_one, counter));
  check(PST_Enqueue_start(queue, send));
  check(PST_Enqueue_wait(queue, send));
}

/* The stream's program: nothing here waits for the other rank. */
static long play(int rank) {
  PST_Stream stream;
  PST_Queue queue;
  MPI_Request requests[2];
  MPI_Status statuses[2];
  long counter = 0;

  check(PST_Stream_create(&stream));
  check(PST_Queue_init(&queue, PST_QUEUE_HOST, &stream));
  check(MPI_Send_init(&counter, 1, MPI_LONG, 1 - rank, tag, MPI_COMM_WORLD, &requests[0]));
  check(MPI_Recv_init(&counter, 1, MPI_LONG, 1 - rank, tag, MPI_COMM_WORLD, &requests[1]));
  check(PST_Matchall(2, requests, statuses));

  for (int round = 0; round < rounds; ++round) {
    if (rank == 0) {
      ping(stream, queue, &requests[0], &requests[1], &counter);
    } else {
      pong(stream, queue, &requests[0], &requests[1], &counter);
    }
  }
  check(PST_Queue_wait(queue));

  check(MPI_Request_free(&requests[0]));
  check(MPI_Request_free(&requests[1]));
  check(PST_Queue_free(&queue));
  check(PST_Stream_free(&stream));
  return counter;
}

int main(int argc, char** argv) {
  int rank, size, wrong = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size == 2) {
    long counter = play(rank);
    wrong = counter != 2L * rounds;
    printf("rank %d: counted to %ld of %ld\n", rank, counter, 2L * rounds);
  } else if (rank == 0) {
    fprintf(stderr, "ping_pong_c: run me on 2 ranks: mpiexec -n 2 ./ping_pong_c\n");
  }
  MPI_Finalize();
  return wrong;
}
