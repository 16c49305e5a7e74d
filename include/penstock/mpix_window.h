/* SPDX-License-Identifier: Apache-2.0
 *
 * The names of the paper on stream-triggered RMA (STRMA), for both penstock/mpix.h and
 * penstock/mpix_hpe.h, one of which is included by the program.
 */
#ifndef PENSTOCK_MPIX_WINDOW_H
#define PENSTOCK_MPIX_WINDOW_H

#include <penstock/penstock.h>

/* Epochs of windows (STRMA), which take the handle of a stream: a PST_Stream, or a stream of a GPU.
 * They go by the queue of PST_Stream_queue. An error of its making is returned like any other. */
#define MPIX_MODE_STREAM PST_MODE_STREAM
#define MPI_MODE_STREAM PST_MODE_STREAM
#define MPIX_Win_post_stream PST_MPIX_Win_post_stream
#define MPIX_Win_complete_stream PST_MPIX_Win_complete_stream
#define MPIX_Win_wait_stream PST_MPIX_Win_wait_stream

static inline int PST_MPIX_Win_post_stream(MPI_Group group, MPI_Win win, void* stream) {
  PST_Queue queue = PST_QUEUE_NULL;
  const int code = PST_Stream_queue(stream, &queue);
  return code != MPI_SUCCESS ? code : PST_Win_post_stream(group, 0, win, queue);
}

static inline int PST_MPIX_Win_complete_stream(MPI_Win win, void* stream) {
  PST_Queue queue = PST_QUEUE_NULL;
  const int code = PST_Stream_queue(stream, &queue);
  return code != MPI_SUCCESS ? code : PST_Win_complete_stream(win, queue);
}

static inline int PST_MPIX_Win_wait_stream(MPI_Win win, void* stream) {
  PST_Queue queue = PST_QUEUE_NULL;
  const int code = PST_Stream_queue(stream, &queue);
  return code != MPI_SUCCESS ? code : PST_Win_wait_stream(win, queue);
}

#endif /* PENSTOCK_MPIX_WINDOW_H */
