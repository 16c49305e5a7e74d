/* SPDX-License-Identifier: Apache-2.0
 *
 * The channels of Penstock's C API. penstock.h includes this header, and its conventions hold here.
 */
#ifndef PENSTOCK_CHANNEL_H
#define PENSTOCK_CHANNEL_H

#include <penstock/penstock.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Persistent one-sided messages: ranges of a send buffer travel to the same ranges of a receive
 * buffer and are released by themselves, whatever the ranges that either end names. A channel is
 * divided into units. Each belongs to the sender at first, goes to the receiver with a put, and
 * comes back with a release; so the k-th put of a unit is what its k-th wait waits for. Ranges are
 * chosen call by call, in whole units, and the two ends need not agree on them. The verbs are those
 * of "RAPIDS", the poster "RAPIDS Channel API: Improved Persistent Communication"; units, grids,
 * matching, failures and all that is said of streams are Penstock's. See docs/channel.md. */

/* Makes one end of a channel: an MPI request that PST_Match and its kin match, in their order and
 * with channels alone, and that MPI_Request_free frees. MPI_Start does nothing with it, and
 * PST_Enqueue_start refuses it. `count`, the number of elements, the size of an element and `unit`,
 * elements of a unit, are the same on both ends; else the match fails on both, with
 * PST_ERROR_TRUNCATE (counts) or PST_ERROR_ARGUMENT. `unit` 0 stands for elements of 128 bytes or
 * the next more. The last unit may be short. There are 2^24 units at most between processes of a
 * host over `peer`, and 1024 elsewhere: more are PST_ERROR_UNSUPPORTED at the match, and so are
 * buffers in memory of a GPU. `datatype` has no gaps, and may be freed after the call. A null `buf`
 * of a receive lets the library allocate the memory, as PST_Alloc_mem does, which goes with the
 * request. MPI_ANY_SOURCE, MPI_ANY_TAG and MPI_PROC_NULL mean what they mean elsewhere. `info` is
 * MPI_INFO_NULL, or has nothing to say. The match has the receives of all units started, so that
 * what is put from then on may be written into the receive buffer. Do not block; call MPI. Errors:
 * PST_ERROR_ARGUMENT (null pointer, negative count or unit, null send buffer),
 * PST_ERROR_UNSUPPORTED (a datatype with gaps),
 * PST_ERROR_RESOURCES, PST_ERROR_MPI, PST_ERROR_NOT_INITIALIZED. Source: Penstock. */
PST_API int PST_Channel_send_init(const void* buf, MPI_Count count, MPI_Datatype datatype,
                                  MPI_Count unit, int dest, int tag, MPI_Comm comm, MPI_Info info,
                                  MPI_Request* channel);
PST_API int PST_Channel_recv_init(void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Count unit,
                                  int source, int tag, MPI_Comm comm, MPI_Info info,
                                  MPI_Request* channel);

/* Writes the address of this end's buffer to the pointer at `bufptr`. It holds until the request is
 * freed. Does not block. Any thread. Errors: PST_ERROR_ARGUMENT (null pointer, no channel),
 * PST_ERROR_REQUEST. Source: Penstock. */
PST_API int PST_Channel_buffer(MPI_Request channel, void* bufptr);

/* These enqueue on `queue`, whose stream is the host's, what is to become of `count` elements from
 * `offset` on. Both are multiples of the unit, but that the range may end where the channel does; a
 * count of 0 does nothing. Calls on different queues may name disjoint ranges of a channel at once,
 * from any threads. Where two calls name one unit the program orders their streams, as for any
 * memory. None of them blocks, and all but PST_Channel_test are in stream order:
 *   put       (sender) sends the range, as the stream's earlier work wrote it. It never makes the
 *             stream wait: what cannot be sent yet, as the unit is not released, is left to the
 *             put_wait, which moves it
 *   put_wait  (sender) later work of the stream runs when all puts of these units have been sent,
 *             and may write the range. Units that were not put are passed over. It says nothing of
 *             the receiver, and may end before a release
 *   wait      (receiver) later work runs when each unit of the range has its next message, whether
 *             by one put, several or a part of one; the range is the receiver's from then on
 *   release   (receiver) gives the range back when the stream's earlier work has done with it. Any
 *             units that have been waited for. It never makes the stream wait
 * Put, wait for the put, put again ...; wait, release, wait again ... What breaks this order (a put
 * over one without put_wait, a second wait without release, a release of what was not waited for)
 * ends with an error of the queue, PST_ERROR_ALREADY_STARTED or PST_ERROR_NOT_STARTED, and the
 * channel is given up on both ends; with PENSTOCK_CHECK=1 it is that error of the call, and nothing
 * has happened. PST_Queue_wait waits for what is enqueued, and adds no put_wait to a put; a sender
 * that is freed with units put and not sent says so in its log. A queue or channel that fails
 * (PST_ERROR_PEER_DEAD; PST_ERROR_PEER_FREED for what the other end does not serve any more;
 * PST_ERROR_TIMEOUT) ends all waits of the channel, whose reports name the unit. Freed, a channel
 * ends behind what is enqueued for it and what is under way; one that no queue was used on waits
 * for the latter in PST_Request_free. Nothing comes into the buffer behind that. Errors:
 * PST_ERROR_QUEUE, PST_ERROR_REQUEST, PST_ERROR_NOT_MATCHED, PST_ERROR_ARGUMENT (no channel, its
 * other end, a range that is none of whole units within it), PST_ERROR_UNSUPPORTED (a queue over a
 * stream of a GPU), PST_ERROR_RESOURCES, with PENSTOCK_CHECK=1 the two above, what a channel was
 * given up for, and the queue's own error. Source: RAPIDS, Penstock. */
PST_API int PST_Channel_put(PST_Queue queue, MPI_Request channel, MPI_Count offset,
                            MPI_Count count);
PST_API int PST_Channel_put_wait(PST_Queue queue, MPI_Request channel, MPI_Count offset,
                                 MPI_Count count);
PST_API int PST_Channel_wait(PST_Queue queue, MPI_Request channel, MPI_Count offset,
                             MPI_Count count);
PST_API int PST_Channel_release(PST_Queue queue, MPI_Request channel, MPI_Count offset,
                                MPI_Count count);

/* Sets *flag to 1 when each unit of the range has its next message, or has been waited for and not
 * been released, else to 0. It may find 0 while another thread looks at the same units. A unit is
 * the receiver's by PST_Channel_wait alone, which ends at once then. Moves the messages of these
 * units along. Never blocks. Any thread. Errors: as above, without a queue, and what the channel
 * has been given up for. Source: Penstock. */
PST_API int PST_Channel_test(MPI_Request channel, MPI_Count offset, MPI_Count count, int* flag);

/* The calls of MPI's partitioned messages, on streams. A request of MPI_Psend_init or
 * MPI_Precv_init, where the MPI has them, is a channel once PST_Match or its kin have matched it,
 * with a request of either kind or with an end of PST_Channel_send_init or PST_Channel_recv_init:
 * of partitions * count elements, with a partition for each unit. Where the two ends have
 * partitions of different lengths, both give the MPI_Info key `penstock_unit`, elements of a unit,
 * which `count` is a multiple of. Every call for channels takes such a request, and these take
 * every channel, whose units are its partitions unless it comes of MPI with that key.
 *   PST_Pready    (sender) PST_Channel_put of a partition; of all from partition_low to
 *                 partition_high; of those that the array names, each once
 *   PST_Parrived  (receiver) PST_Channel_test of a partition: never blocks, any thread
 * PST_Channel_put_wait and PST_Channel_wait stand for MPI_Wait, of any partitions on any queue, and
 * PST_Channel_release for the receiver's MPI_Start, but for the first, which the match has done.
 * MPI_Start, MPI_Pready, MPI_Parrived and MPI_Wait stay MPI's own: they start, tell and wait for a
 * message of MPI's, and know nothing of the channel; while MPI has the request active, calls for it
 * are PST_ERROR_ALREADY_STARTED. A number that is no partition of the request is
 * PST_ERROR_ARGUMENT, as is a list that has one twice; where one of a list is refused, or there is
 * no memory for all of it (PST_ERROR_RESOURCES), nothing is enqueued. Who blocks, stream order,
 * threads and errors are otherwise those of the calls that these stand for. Source: MPI-4, RAPIDS,
 * Penstock. */
PST_API int PST_Pready(PST_Queue queue, int partition, MPI_Request request);
PST_API int PST_Pready_range(PST_Queue queue, int partition_low, int partition_high,
                             MPI_Request request);
PST_API int PST_Pready_list(PST_Queue queue, int length, const int partitions[],
                            MPI_Request request);
PST_API int PST_Parrived(MPI_Request request, int partition, int* flag);

#ifdef __cplusplus
}
#endif

#endif /* PENSTOCK_CHANNEL_H */
