/* SPDX-License-Identifier: Apache-2.0
 *
 * Matched requests in kernels of the program's: handles that kernels take by value. penstock.h
 * includes this header; what kernels do with a handle is in penstock/device.cuh, and in words in
 * docs/kernels.md.
 */
#ifndef PENSTOCK_DEVICE_H
#define PENSTOCK_DEVICE_H

#include <penstock/device_request.h>
#include <penstock/penstock.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes a handle of a matched request, by which kernels that run on the queue's stream start it and
 * wait for it: once, or again and again, also in graphs that are replayed. From then on starts and
 * waits by kernels and by enqueue calls mix in the order of the stream; the calls no longer find a
 * start without a wait, nor a wait without a start, which the kernels report, and PST_Queue_wait
 * waits for nothing of this request that has not been named. Wait for each start, by either kind.
 *
 * `wait_blocks` says in how many leading blocks of a kernel it may be waited for:
 * PST_Device_wait_blocks of penstock/device.cuh tells how many of a kernel's may. A wait in another
 * block is an error of the queue.
 *
 * What serves it: the message is in memory of the queue's GPU, without gaps or in rows that kernels
 * take where they lie, travels between GPUs that address each other's memory, and is not larger
 * than PENSTOCK_CUDA_EAGER_MAX. A request of which a graph has been captured before has none.
 * Several handles of one request are the same but for the queue that hears of errors.
 *
 * Does not block; it may enqueue on the stream what earlier calls have left to the next start.
 * Stream order: kernels that use it come behind this call, and end before the request is freed.
 * Errors: PST_ERROR_UNSUPPORTED, whose text says why the request has no handle; PST_ERROR_ARGUMENT
 * for a null pointer or wait_blocks below 0; PST_ERROR_ALREADY_STARTED, also where MPI has it
 * started; PST_ERROR_STREAM in a graph capture, or for a queue of another GPU;
 * PST_ERROR_NOT_MATCHED; the queue's. Source: Penstock. */
PST_API int PST_Request_device(PST_Queue queue, MPI_Request request, int wait_blocks,
                               PST_Device_request* handle);

#ifdef __cplusplus
}
#endif

#endif
