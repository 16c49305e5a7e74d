/* SPDX-License-Identifier: Apache-2.0
 *
 * The names that the papers on the stream-triggering API (ST) and on stream-triggered RMA (STRMA)
 * use, for Penstock's functions. Only what exists is mapped.
 *
 * These are macros: some MPI libraries export MPIX_ functions of the same names with other
 * meanings. <mpi.h>, and <mpi-ext.h> where it is used, must be included before this file.
 */
#ifndef PENSTOCK_MPIX_H
#define PENSTOCK_MPIX_H

#if defined(PENSTOCK_MPIX_HPE_H)
#error \
    "penstock/mpix.h is for matched requests, penstock/mpix_hpe.h for messages that MPI matches, by the same names: include only one of them"
#endif

#include <penstock/penstock.h>

/* Types and constants. */
#define MPIX_Queue PST_Queue
#define MPIX_Queue_type PST_Queue_type
#define MPIX_QUEUE_NULL PST_QUEUE_NULL
#define MPIX_QUEUE_HOST PST_QUEUE_HOST
#define MPIX_QUEUE_CUDA PST_QUEUE_CUDA
#define MPIX_QUEUE_HIP PST_QUEUE_HIP
#define MPIX_QUEUE_TYPE_HOST PST_QUEUE_HOST
#define MPIX_QUEUE_TYPE_CUDA PST_QUEUE_CUDA
#define MPIX_QUEUE_TYPE_HIP PST_QUEUE_HIP

/* Queues (ST III-B, III-D). */
#define MPIX_Queue_init PST_Queue_init
#define MPIX_Queue_free PST_Queue_free
#define MPIX_Queue_wait PST_Queue_wait

/* Matching (ST III-C). */
#define MPIX_Match PST_Match
#define MPIX_Matchall PST_Matchall
#define MPIX_Imatch PST_Imatch
#define MPIX_Imatchall PST_Imatchall
#define MPIX_Is_matched PST_Is_matched

/* Enqueueing (ST III-D). */
#define MPIX_Enqueue_start PST_Enqueue_start
#define MPIX_Enqueue_startall PST_Enqueue_startall
#define MPIX_Enqueue_wait PST_Enqueue_wait

/* MPIX_Enqueue_waitall(queue, count, requests), or MPIX_Enqueue_waitall(queue) for all that was
 * started on the queue (ST Fig. 3): the number of arguments selects the function. */
/* clang-format off */
#define MPIX_Enqueue_waitall(...) \
  PST_MPIX_FOURTH_(__VA_ARGS__, PST_Enqueue_waitall, \
                   (MPIX_Enqueue_waitall_takes_one_argument_or_three), \
                   PST_Enqueue_wait_outstanding, )(__VA_ARGS__)
/* clang-format on */
#define PST_MPIX_FOURTH_(first, second, third, fourth, ...) fourth

#include <penstock/mpix_window.h>

#endif /* PENSTOCK_MPIX_H */
