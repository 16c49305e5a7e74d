/* SPDX-License-Identifier: Apache-2.0
 *
 * Each rank computes numbers on its stream and puts them into its right neighbour's window, step
 * after step. The host enqueues all of it and waits once, at the end.
 *   cc -o window window.c -lpenstock -lmpi
 */
#include <mpi.h>
#include <penstock/penstock.h>
#include <stdio.h>
#include <stdlib.h>

enum { numbers = 100, steps = 1000 };

typedef struct {
  double* mine; /* the window: what the left neighbour has put here */
  double edge[numbers];
  int rank, left, step, wrong;
} State;

/* Both run on the stream, in its order. */
static void compute(void* argument) {
  State* state = argument;
  ++state->step;
  for (int i = 0; i < numbers; ++i) state->edge[i] = 1000.0 * state->step + 10 * state->rank + i;
}

static void check(void* argument) {
  State* state = argument;
  for (int i = 0; i < numbers; ++i)
    state->wrong += state->mine[i] != 1000.0 * state->step + 10 * state->left + i;
}

static void require(int code, const char* what) {
  char text[512];
  if (code == MPI_SUCCESS) return;
  PST_Last_error(text, sizeof text);
  fprintf(stderr, "%s: %s\n", what, text);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  State* const state = calloc(1, sizeof *state);
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int size;
  MPI_Comm_rank(MPI_COMM_WORLD, &state->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  state->left = (state->rank + size - 1) % size;
  const int right = (state->rank + 1) % size;

  MPI_Win window;
  require(PST_Win_allocate(sizeof state->edge, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD,
                           &state->mine, &window),
          "PST_Win_allocate");
  MPI_Group world, origins, targets;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, &state->left, &origins);
  MPI_Group_incl(world, 1, &right, &targets);

  PST_Stream stream;
  PST_Queue queue;
  require(PST_Stream_create(&stream), "PST_Stream_create");
  require(PST_Queue_init(&queue, PST_QUEUE_HOST, &stream), "PST_Queue_init");

  for (int step = 0; step < steps; ++step) {
    require(PST_Win_post_stream(origins, 0, window, queue), "PST_Win_post_stream");
    require(MPI_Win_start(targets, PST_MODE_STREAM, window), "MPI_Win_start");
    require(MPI_Put(state->edge, numbers, MPI_DOUBLE, right, 0, numbers, MPI_DOUBLE, window),
            "MPI_Put");
    require(PST_Stream_launch(stream, compute, state), "PST_Stream_launch");
    require(PST_Win_complete_stream(window, queue), "PST_Win_complete_stream");
    require(PST_Win_wait_stream(window, queue), "PST_Win_wait_stream");
    require(PST_Stream_launch(stream, check, state), "PST_Stream_launch");
  }
  require(PST_Queue_wait(queue), "PST_Queue_wait");
  printf("rank %d: %d steps, %d numbers wrong\n", state->rank, state->step, state->wrong);

  const int code = state->wrong != 0;
  require(MPI_Win_free(&window), "MPI_Win_free");
  MPI_Group_free(&world);
  MPI_Group_free(&origins);
  MPI_Group_free(&targets);
  PST_Queue_free(&queue);
  PST_Stream_free(&stream);
  MPI_Finalize();
  free(state);
  return code;
}
