/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages that MPI matches: a ring in which each rank enqueues what it sends and receives, and one
 * trigger a step hands both to MPI from the stream. Nothing is matched beforehand: in the last step
 * the receives are plain calls of MPI.
 *
 *   mpiexec -n 2 ./enqueued_c
 */
#include <mpi.h>
#include <penstock/mpix_hpe.h>
#include <stdio.h>

enum { steps = 20, numbers = 1000 };

typedef struct {
  int out[numbers], in[numbers];
  int rank, left, right;
  int steps, wrong;
} Ring;

/* Ends the job with Penstock's own explanation. */
static void check(int code) {
  char text[512];
  if (code == MPI_SUCCESS) return;
  PST_Last_error(text, sizeof text);
  fprintf(stderr, "enqueued_c: %s\n", text);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* These two run on the stream, before and behind the messages of a step. */
static void fill(void* argument) {
  Ring* const ring = argument;
  for (int i = 0; i < numbers; ++i) ring->out[i] = 100000 * ring->rank + 10 * i + ring->steps % 10;
}
static void check_numbers(void* argument) {
  Ring* const ring = argument;
  for (int i = 0; i < numbers; ++i)
    ring->wrong += ring->in[i] != 100000 * ring->left + 10 * i + ring->steps % 10;
  ++ring->steps;
}

static void run(Ring* ring) {
  PST_Stream stream;
  MPIX_Queue queue;
  MPI_Request sent;

  check(PST_Stream_create(&stream));
  check(MPIX_Create_queue(MPI_COMM_WORLD, stream, &queue));
  for (int step = 0; step < steps - 1; ++step) {
    /* The queue names the communicator; a null pointer asks for no request. */
    check(MPIX_Enqueue_recv(ring->in, numbers, MPI_INT, ring->left, 0, queue, NULL));
    check(MPIX_Enqueue_send(ring->out, numbers, MPI_INT, ring->right, 0, queue, NULL));
    check(PST_Stream_launch(stream, fill, ring));
    check(MPIX_Enqueue_start(queue)); /* both, when the stream gets here */
    check(MPIX_Enqueue_wait(queue));  /* the stream waits, this thread does not */
    check(PST_Stream_launch(stream, check_numbers, ring));
  }
  check(PST_Queue_wait(queue));

  /* The last step: the send is enqueued, with a request; the receive is MPI's own. */
  check(MPIX_Enqueue_send(ring->out, numbers, MPI_INT, ring->right, 0, queue, &sent));
  check(PST_Stream_launch(stream, fill, ring));
  check(MPIX_Enqueue_start(queue));
  MPI_Recv(ring->in, numbers, MPI_INT, ring->left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
  check_numbers(ring);

  check(MPIX_Free_queue(queue));
  check(PST_Stream_free(&stream));
}

int main(int argc, char** argv) {
  static Ring ring;
  int size, level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level); /* threads of Penstock call MPI */
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &ring.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  ring.left = (ring.rank + size - 1) % size;
  ring.right = (ring.rank + 1) % size;
  run(&ring);
  printf("rank %d: %d numbers, %d of them wrong\n", ring.rank, numbers * ring.steps, ring.wrong);
  MPI_Finalize();
  return ring.wrong == 0 && ring.steps == steps ? 0 : 1;
}
