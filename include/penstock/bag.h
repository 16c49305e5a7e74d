/* SPDX-License-Identifier: Apache-2.0
 *
 * The bags of Penstock's C API. penstock.h includes this header, and its conventions hold here.
 */
#ifndef PENSTOCK_BAG_H
#define PENSTOCK_BAG_H

#include <penstock/penstock.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Messages of several sources into one bag, out of which the receiver takes the first that is
 * there, in stream order: the host learns neither whose it was nor where it lies. Each source has
 * slots of its own in the receiver's buffer, which the receiver gives back in any order. The model
 * is the GrabBag of "RAPIDS", the poster "RAPIDS Channel API: Improved Persistent Communication",
 * which fixes only that a grab takes the first message that is there; all else is Penstock's. See
 * docs/bag.md. */

/* What a grab has taken. */
typedef struct PST_Grabbed {
  int slot;        /* where it lies: at buf + slot * slot_count elements */
  int rank;        /* whose it is, in the bag's communicator */
  MPI_Count count; /* its elements, which may be fewer than the slot's */
} PST_Grabbed;

/* Make the ends of a bag: MPI requests that PST_Match and its kin match, in their order and with
 * bags alone, and that PST_Request_free or MPI_Request_free frees. The receiver's meets one end of
 * PST_Bag_send_init of each rank of `sources`, which names no rank twice. `slots`, for each source,
 * `slot_count`, elements of a slot, and the size of an element are the same on all ends; else the
 * match fails on both, with PST_ERROR_ARGUMENT. `buf` has nsources * slots slots, those of the
 * first source first. Where it is of PST_Alloc_mem, messages are written into it; else a grab
 * copies them there. `datatype` has no gaps, and may be freed after the call. MPI_PROC_NULL as
 * `dest` takes all that is put. Served by `peer`, between processes that share memory, and within
 * one: elsewhere, and in memory of a GPU, the match is PST_ERROR_TRANSPORT, with the reason. `info`
 * is MPI_INFO_NULL, or has nothing to say. Do not block; call MPI. Errors: PST_ERROR_ARGUMENT (null
 * pointer, fewer than one slot or source, a count that is negative or beyond 2^32 - 1, a source
 * twice or that is no rank), PST_ERROR_UNSUPPORTED (a datatype with gaps), PST_ERROR_RESOURCES,
 * PST_ERROR_MPI, PST_ERROR_NOT_INITIALIZED. Source: RAPIDS, Penstock. */
PST_API int PST_Bag_recv_init(void* buf, int slots, MPI_Count slot_count, MPI_Datatype datatype,
                              int nsources, const int sources[], int tag, MPI_Comm comm,
                              MPI_Info info, MPI_Request* bag);
PST_API int PST_Bag_send_init(int slots, MPI_Count slot_count, MPI_Datatype datatype, int dest,
                              int tag, MPI_Comm comm, MPI_Info info, MPI_Request* bag);

/* These enqueue on `queue`, whose stream is the host's. None blocks; all are in stream order:
 *   put      copies `count` elements from `source` into a free slot. The stream waits while all
 *            slots are full; later work of it may write `source`
 *   grab     waits for any message that nobody has grabbed and writes where it lies to *grabbed,
 *            which must live until then; the slot is the receiver's from then on. Of a source
 *            messages come in the order in which they were put; among sources the look begins
 *            behind the one that was grabbed from last, so none is passed over for ever
 *   release  gives the slot back that *grabbed says when the stream gets here. Each grab has one
 *            release, on any queue, which the program orders behind it
 * Calls on different queues may name one end at once, from any threads: each message is grabbed
 * once by one of them, and what several queues put at one end keeps the order of each. A grab that
 * has failed leaves the slot -1, the rank -1 and the count 0. A source that frees its end puts
 * nothing more: a grab fails with PST_ERROR_PEER_FREED when all have and nothing is left, with
 * PST_ERROR_PEER_DEAD when nothing is left and one of the processes has ended. A put whose receiver
 * has freed its end, or given it up, fails with PST_ERROR_PEER_FREED. A release of what was not
 * grabbed fails with PST_ERROR_NOT_STARTED. The first failure, PST_ERROR_TIMEOUT too, is that of
 * its queue, gives this end up, and ends all its waits. Freed, an end goes behind what is enqueued
 * for it, and a receiver's behind puts that are writing into its slots; what was put and not
 * grabbed goes unread. Errors: PST_ERROR_QUEUE, PST_ERROR_REQUEST,
 * PST_ERROR_NOT_MATCHED, PST_ERROR_ARGUMENT (no bag, its other end, a null pointer, a count beyond
 * the slot's), PST_ERROR_UNSUPPORTED (a queue over a stream of a GPU), PST_ERROR_RESOURCES, what a
 * bag was given up for, and the queue's own error. Source: RAPIDS, Penstock. */
PST_API int PST_Bag_put(PST_Queue queue, MPI_Request bag, const void* source, MPI_Count count);
PST_API int PST_Bag_grab(PST_Queue queue, MPI_Request bag, PST_Grabbed* grabbed);
PST_API int PST_Bag_release(PST_Queue queue, MPI_Request bag, const PST_Grabbed* grabbed);

#ifdef __cplusplus
}
#endif

#endif /* PENSTOCK_BAG_H */
