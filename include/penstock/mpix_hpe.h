/* SPDX-License-Identifier: Apache-2.0
 *
 * Defines the names of the paper on messages that a stream triggers and MPI matches (HPE), which
 * HPE's MPI uses too, as names for Penstock's functions. The paper has two forms of its calls, with
 * a communicator in each call and with one for the queue; the number of arguments selects the form.
 *
 * These are macros, as in penstock/mpix.h, which gives other meanings to some of the same names.
 * <mpi.h>, and <mpi-ext.h> where it is used, must be included before this file.
 */
#ifndef PENSTOCK_MPIX_HPE_H
#define PENSTOCK_MPIX_HPE_H

#if defined(PENSTOCK_MPIX_H)
#error \
    "penstock/mpix.h is for matched requests, penstock/mpix_hpe.h for messages that MPI matches, by the same names: include only one of them"
#endif

#include <penstock/mpix_window.h>
#include <penstock/penstock.h>

#define MPIX_Queue PST_Queue
#define MPIX_QUEUE_NULL PST_QUEUE_NULL

/* clang-format off */
/* MPIX_Create_queue(stream, &queue) or (comm, stream, &queue). */
#define MPIX_Create_queue(...) \
  PST_MPIX_FOURTH_(__VA_ARGS__, PST_Queue_create, PST_MPIX_Create_queue, \
                   (MPIX_Create_queue_takes_two_or_three_arguments), )(__VA_ARGS__)
#define MPIX_Free_queue PST_Queue_close

/* MPIX_Enqueue_send(buffer, count, datatype, dest, tag, comm, queue, &request), or without comm. */
#define MPIX_Enqueue_send(...) \
  PST_MPIX_THIRTEENTH_(__VA_ARGS__, PST_MPIX_WRONG_, PST_MPIX_WRONG_, PST_MPIX_WRONG_, PST_MPIX_WRONG_, \
                       PST_Enqueue_send, PST_MPIX_Enqueue_send, PST_MPIX_WRONG_, PST_MPIX_WRONG_, \
                       PST_MPIX_WRONG_, PST_MPIX_WRONG_, PST_MPIX_WRONG_, PST_MPIX_WRONG_, )(__VA_ARGS__)
#define MPIX_Enqueue_recv(...) \
  PST_MPIX_THIRTEENTH_(__VA_ARGS__, PST_MPIX_WRONG_, PST_MPIX_WRONG_, PST_MPIX_WRONG_, PST_MPIX_WRONG_, \
                       PST_Enqueue_recv, PST_MPIX_Enqueue_recv, PST_MPIX_WRONG_, PST_MPIX_WRONG_, \
                       PST_MPIX_WRONG_, PST_MPIX_WRONG_, PST_MPIX_WRONG_, PST_MPIX_WRONG_, )(__VA_ARGS__)
#define PST_MPIX_WRONG_ (it_takes_eight_arguments_or_seven_without_a_communicator)
#define PST_MPIX_FOURTH_(first, second, third, fourth, ...) fourth
#define PST_MPIX_THIRTEENTH_(a, b, c, d, e, f, g, h, i, j, k, l, thirteenth, ...) thirteenth
/* clang-format on */

/* The trigger of all that has been enqueued, and the stream's wait for all that was triggered. */
#define MPIX_Enqueue_start PST_Enqueue_trigger
#define MPIX_Enqueue_wait PST_Enqueue_wait_outstanding

static inline int PST_MPIX_Create_queue(void* stream, PST_Queue* queue) {
  return PST_Queue_create(MPI_COMM_NULL, stream, queue);
}

static inline int PST_MPIX_Enqueue_send(const void* buf, int count, MPI_Datatype datatype, int dest,
                                        int tag, PST_Queue queue, MPI_Request* request) {
  return PST_Enqueue_send(buf, count, datatype, dest, tag, MPI_COMM_NULL, queue, request);
}

static inline int PST_MPIX_Enqueue_recv(void* buf, int count, MPI_Datatype datatype, int source,
                                        int tag, PST_Queue queue, MPI_Request* request) {
  return PST_Enqueue_recv(buf, count, datatype, source, tag, MPI_COMM_NULL, queue, request);
}

#endif /* PENSTOCK_MPIX_HPE_H */
