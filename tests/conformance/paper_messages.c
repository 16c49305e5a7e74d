/* SPDX-License-Identifier: Apache-2.0
 *
 * Q1: the calls of the program in Fig. 7 of the paper on stream-triggered messages that MPI
 * matches, line for line, and the same with a communicator in each call, as in its Fig. 5, whose
 * prototypes must agree with the macros. A host stream stands for the GPU's, a function for the
 * kernel. */
#include <mpi.h>
#include <penstock/mpix_hpe.h>
#include <stdio.h>
#include <string.h>

enum { SIZE = 1000 };

int MPIX_Create_queue(MPI_Comm comm, void* stream, MPIX_Queue* queue);
int MPIX_Free_queue(MPIX_Queue queue);
int MPIX_Enqueue_send(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                      MPI_Comm comm, MPIX_Queue queue, MPI_Request* request);
int MPIX_Enqueue_recv(void* buf, int count, MPI_Datatype datatype, int source, int tag,
                      MPI_Comm comm, MPIX_Queue queue, MPI_Request* request);
int MPIX_Enqueue_start(const MPIX_Queue queue);
int MPIX_Enqueue_wait(const MPIX_Queue queue);

static int src_buf1[SIZE], src_buf2[SIZE], src_buf3[SIZE], src_buf4[SIZE];
static int dst_buf1[SIZE], dst_buf2[SIZE], dst_buf3[SIZE], dst_buf4[SIZE];
static int base, wrong;

static void compute(void* none) {
  (void)none;
  for (int i = 0; i < SIZE; ++i) {
    src_buf1[i] = base + 1230 + i;
    src_buf2[i] = base + 1260 + i;
    src_buf3[i] = base + 1250 + i;
    src_buf4[i] = base + 1240 + i;
  }
}
static void use(void* none) {
  (void)none;
  for (int i = 0; i < SIZE; ++i)
    wrong += dst_buf1[i] != base + 1230 + i || dst_buf2[i] != base + 1260 + i ||
             dst_buf3[i] != base + 1250 + i || dst_buf4[i] != base + 1240 + i;
}

static void with_the_queues_communicator(int my_rank, PST_Stream stream,
                                         MPI_Comm MPI_COMM_WORLD_DUP) {
  MPIX_Queue queue;
  MPI_Request sreq[4], rreq[4];

  MPIX_Create_queue(MPI_COMM_WORLD_DUP, (void*)stream, &queue);

  if (my_rank == 0) {
    PST_Stream_launch(stream, compute, NULL);

    MPIX_Enqueue_send(src_buf1, SIZE, MPI_INT, 1, 123, queue, &sreq[0]);
    MPIX_Enqueue_send(src_buf2, SIZE, MPI_INT, 1, 126, queue, &sreq[1]);
    MPIX_Enqueue_send(src_buf3, SIZE, MPI_INT, 1, 125, queue, &sreq[2]);
    MPIX_Enqueue_send(src_buf4, SIZE, MPI_INT, 1, 124, queue, &sreq[3]);

    MPIX_Enqueue_start(queue);
    MPIX_Enqueue_wait(queue);
  } else if (my_rank == 1) {
    MPIX_Enqueue_recv(dst_buf1, SIZE, MPI_INT, 0, 123, queue, &rreq[0]);
    MPIX_Enqueue_recv(dst_buf2, SIZE, MPI_INT, 0, 126, queue, &rreq[1]);
    MPIX_Enqueue_recv(dst_buf3, SIZE, MPI_INT, 0, 125, queue, &rreq[2]);
    MPIX_Enqueue_recv(dst_buf4, SIZE, MPI_INT, 0, 124, queue, &rreq[3]);

    MPIX_Enqueue_start(queue);
    MPIX_Enqueue_wait(queue);

    PST_Stream_launch(stream, use, NULL);
  }
  PST_Stream_synchronize(stream);

  MPIX_Free_queue(queue);
}

static void with_a_communicator_in_each_call(int my_rank, PST_Stream stream, MPI_Comm comm) {
  MPIX_Queue queue;
  MPI_Request sreq[4], rreq[4];
  MPI_Status statuses[4];

  MPIX_Create_queue(stream, &queue);
  if (my_rank == 0) {
    PST_Stream_launch(stream, compute, NULL);
    MPIX_Enqueue_send(src_buf1, SIZE, MPI_INT, 1, 123, comm, queue, &sreq[0]);
    MPIX_Enqueue_send(src_buf2, SIZE, MPI_INT, 1, 126, comm, queue, &sreq[1]);
    MPIX_Enqueue_send(src_buf3, SIZE, MPI_INT, 1, 125, comm, queue, &sreq[2]);
    MPIX_Enqueue_send(src_buf4, SIZE, MPI_INT, 1, 124, comm, queue, &sreq[3]);
    MPIX_Enqueue_start(queue);
    MPIX_Enqueue_wait(queue);
  } else if (my_rank == 1) {
    MPIX_Enqueue_recv(dst_buf4, SIZE, MPI_INT, 0, 124, comm, queue, &rreq[0]);
    MPIX_Enqueue_recv(dst_buf3, SIZE, MPI_INT, 0, 125, comm, queue, &rreq[1]);
    MPIX_Enqueue_start(queue);
    MPIX_Enqueue_recv(dst_buf2, SIZE, MPI_INT, 0, 126, comm, queue, &rreq[2]);
    MPIX_Enqueue_recv(dst_buf1, SIZE, MPI_INT, 0, 123, comm, queue, &rreq[3]);
    MPIX_Enqueue_start(queue);
    MPIX_Enqueue_wait(queue);
    PST_Stream_launch(stream, use, NULL);
    MPI_Waitall(4, rreq, statuses);
  }
  PST_Stream_synchronize(stream);
  if (my_rank == 0) MPI_Waitall(4, sreq, statuses);
  MPIX_Free_queue(queue);
}

int main(int argc, char** argv) {
  int rank, level, all;
  PST_Stream stream;
  MPI_Comm comm;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  PST_Stream_create(&stream);
  for (base = 0; base < 10000; base += 1000) {
    memset(dst_buf1, 0, sizeof dst_buf1);
    with_the_queues_communicator(rank, stream, comm);
    with_a_communicator_in_each_call(rank, stream, comm);
  }
  PST_Stream_free(&stream);
  MPI_Comm_free(&comm);
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d numbers are wrong\n", all);
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}
