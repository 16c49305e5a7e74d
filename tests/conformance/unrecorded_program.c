/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that names MPI before libpenstock, so that its MPI calls do not come through the
 * recorder: it makes its requests with PST_Send_init and its kind, and a match that it does not
 * wait for by a call of ours is driven by a thread of the library. With the argument "unfinished"
 * it leaves a match under way at MPI_Finalize, with "ended" at PST_Finalize before that. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static int next(void) {
  return (rank + 1) % size;
}
static int previous(void) {
  return (rank + size - 1) % size;
}

static void recorder_is_not_reached(void) {
  int value = 0;
  PST_Error kind = PST_ERROR_NONE;
  MPI_Request request;
  MPI_Send_init(&value, 1, MPI_INT, next(), 0, MPI_COMM_WORLD, &request);
  PST_Error_kind(PST_Match(&request, MPI_STATUS_IGNORE), &kind);
  check(kind == PST_ERROR_REQUEST,
        "a request of MPI_Send_init is recorded: the program is linked in the other order");
  MPI_Request_free(&request);
}

/* MPI's own wait makes no progress for us. */
static void match_and_run(PST_Queue queue, int round) {
  int out = 1000 * round + rank, in = -1, i;
  MPI_Request requests[2], matching[2];
  MPI_Status status, statuses[2];
  check(!PST_Send_init(&out, 1, MPI_INT, next(), round, MPI_COMM_WORLD, &requests[0]),
        "PST_Send_init");
  check(!PST_Recv_init(&in, 1, MPI_INT, MPI_ANY_SOURCE, round, MPI_COMM_WORLD, &requests[1]),
        "PST_Recv_init");
  for (i = 0; i < 2; ++i) check(!PST_Imatch(&requests[i], &matching[i]), "PST_Imatch");
  check(!MPI_Waitall(2, matching, statuses), "MPI_Waitall of the matches");
  check(!PST_Match_status(requests[1], &status) && status.MPI_SOURCE == previous(),
        "the source of the match");
  check(!PST_Enqueue_startall(queue, 2, requests) && !PST_Enqueue_waitall(queue, 2, requests),
        "an epoch");
  check(!PST_Queue_wait(queue) && in == 1000 * round + previous(), "the received value");
  for (i = 0; i < 2; ++i) check(!PST_Request_free(&requests[i]), "PST_Request_free");
}

/* The error of a match comes out of the wait for it, and the thread goes on. */
static void truncation(void) {
  char buffer[16];
  MPI_Request requests[2], matching;
  PST_Send_init(buffer, 16, MPI_CHAR, next(), 9, MPI_COMM_WORLD, &requests[0]);
  PST_Recv_init(buffer, 15, MPI_CHAR, previous(), 9, MPI_COMM_WORLD, &requests[1]);
  check(!PST_Imatchall(2, requests, &matching), "PST_Imatchall");
  check(MPI_Wait(&matching, MPI_STATUS_IGNORE) != MPI_SUCCESS,
        "a truncation is an error of the wait");
  PST_Request_free(&requests[0]);
  PST_Request_free(&requests[1]);
}

static void is_not_initialised(int code, const char* call) {
  PST_Error kind = PST_ERROR_NONE;
  PST_Error_kind(code, &kind);
  check(kind == PST_ERROR_NOT_INITIALIZED, call);
}

static void is_ready(int expected) {
  int flag = -1;
  check(!PST_Initialized(&flag) && flag == expected, "PST_Initialized");
}

/* A match under way fails, there is no Penstock any more, and the requests are MPI's. */
static void end(PST_Queue* queue, PST_Stream* stream, MPI_Request* receive, MPI_Request* matching) {
  check(!PST_Finalize(), "PST_Finalize");
  check(!PST_Finalize(), "a second PST_Finalize");
  is_ready(0);
  check(MPI_Wait(matching, MPI_STATUS_IGNORE) != MPI_SUCCESS,
        "MPI_Wait for a match that PST_Finalize has ended");
  is_not_initialised(PST_Enqueue_start(*queue, receive), "PST_Enqueue_start after PST_Finalize");
  is_not_initialised(PST_Match(receive, MPI_STATUS_IGNORE), "PST_Match after PST_Finalize");
  is_not_initialised(PST_Queue_free(queue), "PST_Queue_free after PST_Finalize");
  is_not_initialised(PST_Stream_free(stream), "PST_Stream_free after PST_Finalize");
  is_not_initialised(PST_Init(), "PST_Init after PST_Finalize");
  check(!PST_Request_free(receive), "PST_Request_free after PST_Finalize");
}

/* On a stream PST_Finalize would wait for itself. */
static void end_on_stream(void* unused) {
  PST_Error kind = PST_ERROR_NONE;
  (void)unused;
  PST_Error_kind(PST_Finalize(), &kind);
  check(kind == PST_ERROR_STREAM, "PST_Finalize in a function of a stream");
}

int main(int argc, char** argv) {
  static int value;
  const char* ending = argc > 1 ? argv[1] : "finished";
  int provided, round;
  PST_Stream stream;
  PST_Queue queue;
  MPI_Request receive, matching;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  check(provided == MPI_THREAD_MULTIPLE, "the thread level");
  is_ready(0);
  is_not_initialised(PST_Finalize(), "PST_Finalize before PST_Init");
  check(!PST_Init(), "PST_Init");
  is_ready(1);
  recorder_is_not_reached();
  check(!PST_Stream_create(&stream), "PST_Stream_create");
  check(!PST_Queue_init(&queue, PST_QUEUE_HOST, &stream), "PST_Queue_init");
  for (round = 0; round < 20; ++round) match_and_run(queue, round);
  truncation();
  match_and_run(queue, round);
  check(!PST_Stream_launch(stream, end_on_stream, NULL) && !PST_Stream_synchronize(stream),
        "a function on the stream");
  if (strcmp(ending, "ended") != 0) {
    PST_Queue_free(&queue);
    PST_Stream_free(&stream);
  }
  if (strcmp(ending, "finished") != 0) {
    PST_Recv_init(&value, 1, MPI_INT, previous(), 99, MPI_COMM_WORLD, &receive);
    check(!PST_Imatch(&receive, &matching), "PST_Imatch");
  }
  if (strcmp(ending, "ended") == 0) end(&queue, &stream, &receive, &matching);
  MPI_Finalize();
  if (rank == 0) printf("unrecorded program: passed\n");
  return EXIT_SUCCESS;
}
