/* SPDX-License-Identifier: Apache-2.0
 *
 * Penstock: stream-triggered messages and one-sided epochs for MPI programs.
 *
 * The program records persistent MPI requests, matches each send with its receive once, and from
 * then on enqueues starts and waits on the stream that its computation runs on. No CPU thread of
 * the program stands between the work that produces a message and the work on another process that
 * consumes it.
 *
 * Conventions, true of every function below unless its text says otherwise:
 *   1. The return value is an MPI error code; MPI_SUCCESS is success. PST_Error_kind() tells the
 *      kind of a code, PST_Last_error() the whole text of the calling thread's last error: peer,
 *      tag, communicator, bytes, what to do.
 *   2. An error goes through an MPI error handler first: that of the request's communicator where
 *      there is one, otherwise that of MPI_COMM_WORLD, for queues and windows too. It runs only
 *      where the calling thread may call MPI: see 5. Elsewhere the code is returned all the same. A
 *      call that returns an error has enqueued nothing and changed nothing.
 *   3. "Blocks" speaks of the calling thread. A function that says "does not block" never waits for
 *      communication, for the stream or for another process.
 *   4. "Stream order" says how the call is ordered against other work of the same stream.
 *   5. Threads: calls on different queues may be made from different threads at any MPI thread
 *      level. Two calls that name the same queue, request or window must not overlap, but for the
 *      verbs of a channel and of a bag. PST_Init, PST_Finalize, PST_Comm_attach, the calls under
 *      "Requests", "Collectives", "Matching" and "Windows", and those that make channels and bags,
 *      call MPI and follow the program's MPI thread level; what else calls MPI says so.
 *      All others call an error handler, and drive matches under way, only where MPI may be called:
 *      at MPI_THREAD_MULTIPLE in any thread, at SINGLE and FUNNELED in the thread that initialised
 *      the library, at SERIALIZED in none.
 *   6. Counts are numbers of requests, sizes are bytes.
 *   7. Before MPI_Init and after MPI_Finalize every function returns MPI_ERR_OTHER and prints one
 *      line. Between MPI_Init and PST_Init, and after PST_Finalize, it returns an error of the kind
 *      PST_ERROR_NOT_INITIALIZED, as 2 says; on a thread that may not call MPI, MPI_ERR_OTHER.
 *   8. Penstock belongs to the process that has called MPI_Init. In a child of fork() every
 *      function that needs it ready returns an error of the kind PST_ERROR_FORKED, prints nothing
 *      and calls no error handler, and PST_Initialized says 0. The child may exec, or end in any
 *      way (exit, _exit, quick_exit). It sees the parent's memory as after any fork(), with one
 *      exception: see PST_Alloc_mem. system() and posix_spawn() are as ever.
 * "Source" names where the semantics come from: "ST" is the stream-triggering API paper (sections
 * III-V of "CPU-free two-sided MPI GPU communication"), "HPE" that on messages
 * that a stream triggers and MPI matches ("Exploring GPU Stream-Aware Message Passing using
 * Triggered Operations"), "STRMA" that on stream-triggered
 * active-target RMA, "RAPIDS" that on its channels and bags, "MPI" the MPI standard, "Penstock"
 * this project's docs/semantics.md.
 */
#ifndef PENSTOCK_PENSTOCK_H
#define PENSTOCK_PENSTOCK_H

#include <mpi.h>

#define PST_VERSION_MAJOR 0
#define PST_VERSION_MINOR 1
#define PST_VERSION_PATCH 0
/* One number that grows with every release: major * 10000 + minor * 100 + patch. */
#define PST_VERSION (PST_VERSION_MAJOR * 10000 + PST_VERSION_MINOR * 100 + PST_VERSION_PATCH)

#if defined(__GNUC__)
#define PST_API __attribute__((visibility("default")))
#else
#define PST_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Kinds of error -------------------------------------------------------------------------- */

/* The values never change between releases; new kinds are added at the end. */
typedef enum {
  PST_ERROR_NONE = 0,            /* no error */
  PST_ERROR_NOT_INITIALIZED = 1, /* before PST_Init, after PST_Finalize: convention 7 */
  PST_ERROR_ARGUMENT = 2,    /* null pointer, negative count, unknown enumerator, unfit datatype */
  PST_ERROR_QUEUE = 3,       /* null or freed queue */
  PST_ERROR_STREAM = 4,      /* null or freed, or of another type than the queue */
  PST_ERROR_REQUEST = 5,     /* null, not persistent, not recorded, or freed request */
  PST_ERROR_NOT_MATCHED = 6, /* the request has not been matched */
  PST_ERROR_ALREADY_MATCHED = 7, /* matched, or a match of it is under way */
  PST_ERROR_ALREADY_STARTED = 8, /* started before, and no wait enqueued since */
  PST_ERROR_NOT_STARTED = 9,     /* waited for without having been started */
  PST_ERROR_WRONG_QUEUE = 10,    /* waited for on another queue than it was started on */
  PST_ERROR_IN_USE = 11,         /* freed, or used by MPI, while a queue has it started */
  PST_ERROR_COMMUNICATOR = 12,   /* unknown (PST_Comm_attach cures it), or beyond the world */
  PST_ERROR_TRUNCATE = 13,       /* the receive is shorter than its send; MPI_ERR_TRUNCATE */
  PST_ERROR_BUFFER = 14,         /* a matched buffered send found all its library buffers in use */
  PST_ERROR_TRANSPORT = 15,      /* no allowed transport can serve the pair */
  PST_ERROR_THREAD_LEVEL = 16,   /* needs MPI_THREAD_MULTIPLE */
  PST_ERROR_UNSUPPORTED = 17,    /* valid, but of a kind that cannot be matched or enqueued */
  PST_ERROR_RESOURCES = 18,      /* memory, file descriptors or tags exhausted */
  PST_ERROR_PEER_DEAD = 19,      /* the peer process has ended */
  PST_ERROR_PEER_FREED = 20,     /* the peer has freed its half of the pair */
  PST_ERROR_TIMEOUT = 21,        /* PENSTOCK_TIMEOUT passed */
  PST_ERROR_READY = 22,          /* a ready send before its receive (PENSTOCK_CHECK=1) */
  PST_ERROR_SETTING = 23,        /* an environment variable has no valid value */
  PST_ERROR_MPI = 24,            /* the MPI library reported an error */
  PST_ERROR_INTERNAL = 25,       /* a defect of Penstock: please report it with the text */
  PST_ERROR_FORKED = 26,         /* called in a child of fork(): convention 8 */
  PST_ERROR_WINDOW = 27,         /* a window that is null, freed or not attached */
  PST_ERROR_EPOCH = 28,          /* no such epoch is open, or one is, or the rank is not in it */
  PST_ERROR_RANGE = 29,          /* beyond the target's part of the window */
  PST_ERROR_ASSERTION = 30       /* a receive not as long as its message: PENSTOCK_OVERLAP=exact */
} PST_Error;

/* Writes the kind of `code` to *kind. A code that is not Penstock's gives PST_ERROR_MPI;
 * MPI_SUCCESS gives PST_ERROR_NONE. Does not block. Any thread. Error: PST_ERROR_ARGUMENT for a
 * null pointer. Source: Penstock. */
PST_API int PST_Error_kind(int code, PST_Error* kind);

/* Copies the text of this thread's last error, cut to size-1 characters and terminated; "" when
 * there was none. An error of MPI's own counts where MPI_Send_init or its kin, or a function of
 * Penstock, has returned it. Works before PST_Init and after MPI_Finalize. Does not block. Any
 * thread. Source: Penstock. */
PST_API int PST_Last_error(char* text, int size);

/* ---- Library --------------------------------------------------------------------------------- */

/* Makes Penstock ready. Collective over MPI_COMM_WORLD, after MPI_Init; may be called again, and
 * does nothing then but look at MPI_COMM_WORLD's error handler (see PST_Queue_init). Programs whose
 * MPI_Init resolves to libpenstock need not call it. All ranks of the job must load libpenstock.
 * Blocks until all ranks have called it. Where one rank fails, all return that error and MPI goes
 * on without Penstock; the call may be made again. Errors: PST_ERROR_SETTING, PST_ERROR_RESOURCES,
 * PST_ERROR_NOT_INITIALIZED after PST_Finalize. Source: Penstock. */
PST_API int PST_Init(void);

/* Ends Penstock: what is enqueued completes, matches under way fail, queues and streams are freed,
 * and the library's threads end. Collective over MPI_COMM_WORLD, between PST_Init and MPI_Finalize;
 * may be called again, and does nothing then. Programs whose MPI_Finalize resolves to libpenstock
 * need not call it; the others should, since MPICH breaks where a thread of Penstock is inside MPI
 * while MPI_Finalize begins. Afterwards there is no way back: requests are MPI's alone (those of
 * enqueued messages are freed), and PST_Request_free is MPI_Request_free; memory of PST_Alloc_mem
 * stays until the process ends; all but that and what works before PST_Init returns an error.
 * Blocks until what is enqueued has completed or failed, and until all ranks have called it
 * (PENSTOCK_TIMEOUT bounds that), as none may stop reading what others still send. No other call of
 * Penstock or MPI may run beside it. Errors: PST_ERROR_NOT_INITIALIZED before PST_Init,
 * PST_ERROR_STREAM in a function that runs on a stream and while the stream of a queue is being
 * captured; then nothing has ended. Source: Penstock. */
PST_API int PST_Finalize(void);

/* Whether Penstock is ready: 1 after PST_Init and before PST_Finalize and MPI_Finalize, else 0.
 * Works at any time. Does not block. Any thread. Error: PST_ERROR_ARGUMENT for a null pointer.
 * Source: Penstock. */
PST_API int PST_Initialized(int* flag);

/* The version of the library that is loaded (the PST_VERSION macros are those of the header). Does
 * not block. Works before PST_Init. Error: PST_ERROR_ARGUMENT for a null pointer. */
PST_API int PST_Get_version(int* major, int* minor, int* patch);

/* Writes a JSON text that says what the library found: versions, MPI and thread level, host, cores,
 * devices, GPUs and their links, transports, settings. Of each transport it says why it is or is
 * not usable, for how many halves of pairs it has been matched, and why it was passed over for
 * others. It says what a transport counts (ofi: entries of the provider, and how starts were
 * carried out; peer: ends of channels whose units have words). It says whether this process may run
 * on one core only, and how long its threads waited for one. At most size-1 characters and a
 * terminator are written to `json`; *length is the whole text's length without terminator, so a
 * call with size 0 (json may then be null) tells the size needed. Does not block. Errors:
 * PST_ERROR_ARGUMENT. Source: Penstock. */
PST_API int PST_Describe(char* json, int size, int* length);

/* Writes a JSON text that says what the library makes of the environment of this process: the file
 * that it was loaded from, the MPI that it was built for and the one that is loaded, whether it is
 * ready and why not, whether MPI calls come through it and why not, each variable that begins with
 * PENSTOCK_ (valid; invalid, with the valid values; unknown, with a setting that may be meant), and
 * what is wrong with the file of PENSTOCK_TUNE. `json`, `size` and `length` as in PST_Describe.
 * Works at any time, also before MPI_Init and where PST_Init has failed. Reads that file; else it
 * does not block. Any thread. Error: PST_ERROR_ARGUMENT. Source: Penstock. */
PST_API int PST_Describe_environment(char* json, int size, int* length);

/* Makes the communicator known to Penstock: needed only for communicators whose creation Penstock
 * did not see (made before it was loaded, by a call that it does not record, or with the profiling
 * interface taken). Collective over `comm`; blocks until all its members have called it; calling it
 * again does nothing. Requests of it are handed to match behind it, on every member. Every member's
 * answer is the same. Errors: PST_ERROR_COMMUNICATOR for MPI_COMM_NULL or members outside
 * MPI_COMM_WORLD. Source: Penstock. */
PST_API int PST_Comm_attach(MPI_Comm comm);

/* ---- Host streams ---------------------------------------------------------------------------- */

/* An in-order stream of work that runs on a worker thread of its own: what a CUDA stream is to a
 * GPU. Work starts in the order in which it was enqueued, each after the one before it has ended. A
 * worker without work sleeps. */
typedef struct PST_Stream_s* PST_Stream;
#define PST_STREAM_NULL ((PST_Stream)0)

/* Creates a stream. Does not block. Any thread. Errors: PST_ERROR_ARGUMENT, PST_ERROR_RESOURCES.
 * Source: Penstock. */
PST_API int PST_Stream_create(PST_Stream* stream);

/* Enqueues function(argument). Stream order: runs after everything enqueued before it, before
 * everything enqueued after. What `argument` points to must stay as it is until the function has
 * run; a loop's variable does not. The function may enqueue (on any stream) but must not wait for a
 * stream, a queue, a match or a message, and so must make no blocking or collective call of MPI; it
 * may wait for a thread of the program. It runs on the stream's worker, for MPI a thread of its
 * own, with signals blocked. It must return: an exception that leaves it, pthread_exit and
 * cancellation end the process. OpenMP regions in it have a team of their own; affinity that it
 * sets stays the worker's. Does not block. Any thread, also several at once. Errors:
 * PST_ERROR_ARGUMENT, PST_ERROR_STREAM, PST_ERROR_RESOURCES. Source: Penstock. */
PST_API int PST_Stream_launch(PST_Stream stream, void (*function)(void*), void* argument);

/* Blocks until everything enqueued on the stream before the call has ended; MPI's own messages move
 * meanwhile, as in PST_Queue_wait. Errors: PST_ERROR_STREAM, also in a function that runs on a
 * stream. Source: Penstock. */
PST_API int PST_Stream_synchronize(PST_Stream stream);

/* Synchronises, ends the worker and sets *stream to PST_STREAM_NULL. Blocks. Queues of the stream
 * must have been freed before: otherwise PST_ERROR_IN_USE. The one of PST_Stream_queue is freed
 * here, and an error of communication on it is returned when the stream is gone. Errors:
 * PST_ERROR_ARGUMENT, PST_ERROR_STREAM (also in a function that runs on a stream),
 * PST_ERROR_IN_USE, and those of PST_Queue_free for that queue. Source: Penstock. */
PST_API int PST_Stream_free(PST_Stream* stream);

/* ---- Queues ---------------------------------------------------------------------------------- */

/* Ties the progress of communication to one stream. */
typedef struct PST_Queue_s* PST_Queue;
#define PST_QUEUE_NULL ((PST_Queue)0)

/* In C++ any int may be passed, as in C: an unknown one is an error of the call. */
#ifdef __cplusplus
#define PST_ANY_INT : int
#else
#define PST_ANY_INT
#endif
typedef enum PST_ANY_INT {
  PST_QUEUE_HOST = 0,
  PST_QUEUE_CUDA = 1,
  PST_QUEUE_HIP = 2
} PST_Queue_type;

/* Creates a queue over a stream. `stream` is the address of the stream handle (PST_Stream *,
 * cudaStream_t *, hipStream_t *) and is read during this call only. Several queues may share a
 * stream. Does not block. Any thread; at MPI_THREAD_SERIALIZED it counts as a call of MPI. Looks
 * whether MPI_COMM_WORLD's error handler is MPI_ERRORS_ARE_FATAL, when a failure of communication
 * on this queue ends the job. At MPI_THREAD_SINGLE and FUNNELED other threads than the one that
 * initialised the library go by the last such look (of PST_Init or of another PST_Queue_init).
 * Errors: PST_ERROR_ARGUMENT (null pointer, unknown type), PST_ERROR_STREAM, PST_ERROR_UNSUPPORTED
 * (type not built in, or no such device here). Source: ST III-B. */
PST_API int PST_Queue_init(PST_Queue* queue, PST_Queue_type type, void* stream);

/* Gives the one queue that belongs to a stream: the first call makes it, PST_Stream_free frees it.
 * The names of penstock/mpix.h that take a stream use it, so that errors and waits of what they
 * enqueue are found there. `stream` is the handle itself: a PST_Stream, or a stream of a GPU, whose
 * queue the program may free with PST_Queue_free while the stream is there. Free the windows that
 * were used on a GPU's stream before it is destroyed. The first call for a GPU's stream does what
 * PST_Queue_init does. Does not block. Threads as in PST_Queue_init. Errors: PST_ERROR_ARGUMENT,
 * PST_ERROR_STREAM, PST_ERROR_RESOURCES. Source: Penstock. */
PST_API int PST_Stream_queue(void* stream, PST_Queue* queue);

/* Does what PST_Queue_wait does, then frees the queue and sets *queue to PST_QUEUE_NULL, also when
 * it returns an error of communication. After any other error (its stream is being captured, it is
 * called by a function that runs on the stream) the queue and its handle are as before. Blocks.
 * Errors: those of PST_Queue_wait, PST_ERROR_IN_USE (a window is exposed on the queue, or messages
 * are enqueued that nothing has triggered). Source: ST III-B. */
PST_API int PST_Queue_free(PST_Queue* queue);

/* Blocks until everything started on the queue is complete, also what has no wait enqueued (a wait
 * is enqueued for it; an exposure epoch alone is left to PST_Win_wait_stream, and a put of a
 * channel to PST_Channel_put_wait), and until everything enqueued on its stream before the call has
 * ended. MPI's own messages move meanwhile, where this thread may call MPI (docs/semantics.md).
 * Returns the queue's error if communication has failed on it: such an error is sticky, and every
 * later enqueue on the queue returns it. Errors: PST_ERROR_QUEUE, PST_ERROR_STREAM (called by a
 * function that runs on a stream; the stream is being captured), PST_ERROR_NOT_STARTED (something
 * was started in a graph capture that has ended without its wait: all else has been waited for, and
 * the next call does not tell it again), PST_ERROR_RESOURCES, PST_ERROR_PEER_DEAD,
 * PST_ERROR_PEER_FREED, PST_ERROR_TIMEOUT, PST_ERROR_BUFFER, PST_ERROR_READY, PST_ERROR_TRANSPORT
 * (a copy has failed), PST_ERROR_MPI. Source: ST III-D. */
PST_API int PST_Queue_wait(PST_Queue queue);

/* Sets *flag to 1 when PST_Queue_wait would return at once, else to 0: so also while something that
 * was started on the queue has no wait enqueued. Where the answer is 0, and this thread may call
 * MPI, it moves MPI's own messages and matches along, as MPI_Test does. Enqueues nothing but
 * what a batch has gathered. Never blocks. Errors: as PST_Queue_wait. Source: Penstock. */
PST_API int PST_Queue_test(PST_Queue queue, int* flag);

/* ---- Requests -------------------------------------------------------------------------------- */

/* Programs use MPI_Send_init, MPI_Ssend_init, MPI_Rsend_init, MPI_Bsend_init, MPI_Recv_init and
 * MPI_Request_free: libpenstock records them through the MPI profiling interface. Where another
 * tool owns that interface, these do the same explicitly: they create (free) the same MPI request
 * and record it. Arguments, blocking and errors as in MPI: `datatype` may have gaps, is committed
 * before, and may be freed after the call. Source: MPI, Penstock. */
PST_API int PST_Send_init(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                          MPI_Comm comm, MPI_Request* request);
PST_API int PST_Ssend_init(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                           MPI_Comm comm, MPI_Request* request);
PST_API int PST_Rsend_init(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                           MPI_Comm comm, MPI_Request* request);
PST_API int PST_Bsend_init(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                           MPI_Comm comm, MPI_Request* request);
PST_API int PST_Recv_init(void* buf, int count, MPI_Datatype datatype, int source, int tag,
                          MPI_Comm comm, MPI_Request* request);
/* Frees a recorded request, matched or not. Does not wait for the peer; work enqueued on a stream
 * for it still completes. Errors: PST_ERROR_IN_USE for a request started and not waited for,
 * PST_ERROR_STREAM while the stream that it was used on last is being captured, PST_ERROR_ARGUMENT.
 * Source: ST III-D. */
PST_API int PST_Request_free(MPI_Request* request);

/* ---- Collectives ----------------------------------------------------------------------------- */

/* A collective as a persistent request: made once, matched once (PST_Match and its kin), started
 * and waited for on queues like a message. All members of `comm` make their collectives in the same
 * order, and start each equally often. The functions of MPI-4 (MPI_Allreduce_init and so on), or of
 * Open MPI 4.1 (MPIX_Allreduce_init), make requests that can be matched, too, where MPI has them;
 * these exist on any MPI, and MPI_Start does nothing with their requests. Arguments as in MPI,
 * MPI_IN_PLACE among them; counts and displacements are in elements, and arrays are copied. `info`
 * may name an algorithm by the key `penstock_algorithm`, the same on all members
 * (docs/collectives.md), or be MPI_INFO_NULL. All buffers of a member are in memory of the host, or
 * of one GPU; datatypes have no gaps; reductions take MPI's predefined operations, but for
 * MPI_MINLOC and MPI_MAXLOC, of the integers of 1, 2, 4 and 8 bytes and the floating-point numbers
 * of 4 and 8 bytes that MPI lets them have, and of the two datatypes of PST_Type_get. Do not block.
 * What cannot be served, and what does not fit between members, is an error of the match, and the
 * same on all members. Errors here: PST_ERROR_ARGUMENT, PST_ERROR_MPI, PST_ERROR_NOT_INITIALIZED.
 * Source: Penstock. */
PST_API int PST_Barrier_init(MPI_Comm comm, MPI_Info info, MPI_Request* request);
PST_API int PST_Bcast_init(void* buf, MPI_Count count, MPI_Datatype datatype, int root,
                           MPI_Comm comm, MPI_Info info, MPI_Request* request);
PST_API int PST_Reduce_init(const void* sendbuf, void* recvbuf, MPI_Count count,
                            MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm,
                            MPI_Info info, MPI_Request* request);
PST_API int PST_Allgather_init(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                               void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                               MPI_Comm comm, MPI_Info info, MPI_Request* request);
PST_API int PST_Alltoall_init(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                              void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                              MPI_Comm comm, MPI_Info info, MPI_Request* request);
PST_API int PST_Alltoallv_init(const void* sendbuf, const MPI_Count sendcounts[],
                               const MPI_Aint sdispls[], MPI_Datatype sendtype, void* recvbuf,
                               const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                               MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                               MPI_Request* request);
PST_API int PST_Allreduce_init(const void* sendbuf, void* recvbuf, MPI_Count count,
                               MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info,
                               MPI_Request* request);
PST_API int PST_Reduce_scatter_block_init(const void* sendbuf, void* recvbuf, MPI_Count recvcount,
                                          MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                                          MPI_Info info, MPI_Request* request);
/* Between the neighbours that the topology of `comm` gives each rank, in MPI's order of blocks; the
 * rest as above. Where a neighbour repeats, its blocks are matched as MPI-4.1 says
 * (docs/collectives.md). Blocks of MPI_PROC_NULL stay untouched. No MPI_IN_PLACE. A communicator
 * without topology is PST_ERROR_ARGUMENT at the match. Source: MPI. */
PST_API int PST_Neighbor_alltoall_init(const void* sendbuf, MPI_Count sendcount,
                                       MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount,
                                       MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                       MPI_Request* request);
PST_API int PST_Neighbor_alltoallv_init(const void* sendbuf, const MPI_Count sendcounts[],
                                        const MPI_Aint sdispls[], MPI_Datatype sendtype,
                                        void* recvbuf, const MPI_Count recvcounts[],
                                        const MPI_Aint rdispls[], MPI_Datatype recvtype,
                                        MPI_Comm comm, MPI_Info info, MPI_Request* request);
/* An allreduce of teams: `comm` consists of teams of equal size, each on one host, and the ranks of
 * a team have one send buffer and one receive buffer between them (PST_Team_memory), which each
 * names by its own pointer. The result, in the receive buffer of each team, combines the send
 * buffers of the teams, each counted once. Each rank carries out its share of that. A start says
 * that this rank's stream has done with both buffers; behind a wait all of the result is there, and
 * nobody reads or writes the buffers for this epoch any more. MPI_IN_PLACE on all ranks: the
 * receive buffer is the send buffer, too. `team` is a communicator of the ranks of this rank's
 * team, alone; the rest as above. Teams of different sizes, and one that is no part of `comm`, are
 * PST_ERROR_ARGUMENT at the match. Source: Penstock. */
PST_API int PST_Team_allreduce_init(const void* sendbuf, void* recvbuf, MPI_Count count,
                                    MPI_Datatype datatype, MPI_Op op, MPI_Comm team, MPI_Comm comm,
                                    MPI_Info info, MPI_Request* request);
/* Floating-point numbers of 16 bits. */
typedef enum PST_ANY_INT {
  PST_TYPE_FLOAT16 = 0, /* IEEE 754 binary16: 5 bits of exponent, 10 of fraction */
  PST_TYPE_BFLOAT16 = 1 /* the upper half of a float: 8 bits of exponent, 7 of fraction */
} PST_Type;

/* Writes to *type the datatype of such numbers, of 2 bytes each: always the same one, committed.
 * The functions above take it, reductions with MPI_SUM, MPI_PROD, MPI_MIN and MPI_MAX. For MPI it
 * is two bytes of no number: it moves them, and combines none. The library frees it at its end,
 * when all that uses it has been freed; the program must not. Does not block. Errors:
 * PST_ERROR_ARGUMENT (null pointer, unknown kind), PST_ERROR_MPI, PST_ERROR_NOT_INITIALIZED.
 * Source: Penstock. */
PST_API int PST_Type_get(PST_Type kind, MPI_Datatype* type);

/* Copies the name of the algorithm that a matched collective has ("doubling"), without a width, cut
 * to size-1 characters and terminated; "" for a message. Does not block. Errors:
 * PST_ERROR_ARGUMENT, PST_ERROR_REQUEST, PST_ERROR_NOT_MATCHED. Source: Penstock. */
PST_API int PST_Request_algorithm(MPI_Request request, char* name, int size);

/* ---- Matching -------------------------------------------------------------------------------- */

/* Pairs persistent sends and receives with those that their peers hand to match, permanently until
 * MPI_Request_free. Order per (communicator, source, tag) is that in which requests are handed to
 * match on each end, as in MPI's non-overtaking rule. MPI_ANY_SOURCE and MPI_ANY_TAG are resolved
 * here, once. A request to MPI_PROC_NULL matches at once and is a no-op for ever. Not collective:
 * only the two processes of each pair take part, and all members of a collective. The status of a
 * receive holds its resolved source and tag, and MPI_Get_count the size of the matched send; those
 * of a send and of a collective are empty. `statuses` may be MPI_STATUSES_IGNORE. MPI_REQUEST_NULL
 * is an error, here and in every array of requests, unlike in MPI_Waitall. PST_Match and
 * PST_Matchall block until every peer has handed its half to match (PENSTOCK_TIMEOUT bounds that),
 * so ranks that send to each other give both requests to one PST_Matchall: PST_Match of the send
 * and then of the receive, on both, never returns. A count of 0 succeeds at once. Errors:
 * PST_ERROR_ARGUMENT, PST_ERROR_REQUEST, PST_ERROR_ALREADY_MATCHED, PST_ERROR_COMMUNICATOR,
 * PST_ERROR_TRUNCATE (on both ends), PST_ERROR_TRANSPORT, PST_ERROR_THREAD_LEVEL,
 * PST_ERROR_UNSUPPORTED, PST_ERROR_PEER_DEAD, PST_ERROR_TIMEOUT, PST_ERROR_STREAM (called by a
 * function that runs on a stream); the requests then stay unmatched, except those of the array
 * whose own match succeeded, which PST_Is_matched tells. Source: ST III-C. */
PST_API int PST_Match(MPI_Request* request, MPI_Status* status);
PST_API int PST_Matchall(int count, MPI_Request requests[], MPI_Status* statuses);

/* The same without blocking: *matching is an MPI request that completes when all of them are
 * matched. Complete it with the MPI_Wait or MPI_Test family; it cannot be cancelled. At
 * MPI_THREAD_MULTIPLE a thread of the library drives the match at all times. At lower levels these
 * calls drive it: the MPI_Wait and MPI_Test families, MPI_Send, MPI_Ssend, MPI_Rsend, MPI_Recv,
 * MPI_Sendrecv, MPI_Sendrecv_replace, MPI_Probe, MPI_Mprobe, MPI_Iprobe, MPI_Improbe and MPI_Mrecv;
 * in other calls of MPI, such as collectives, it stands still. While this rank is in such a call, a
 * peer's PST_Match still returns for what the peer receives from this rank's host memory. It does
 * so, too, for what the peer sends from host memory on the same host to a receive here that names
 * source and tag and has no wildcard receive before it. Any other match waits until this rank
 * drives matches again. Of
 * Penstock's own calls PST_Match, PST_Matchall and PST_Is_matched drive matches below
 * MPI_THREAD_MULTIPLE, and so do PST_Queue_wait, PST_Queue_test, PST_Queue_free,
 * PST_Stream_synchronize and PST_Stream_free, but these not at MPI_THREAD_SERIALIZED, where another
 * thread may be inside MPI. Where another library owns MPI's profiling interface MPI's calls drive
 * nothing: such a program loops over MPI_Test of the match, with PST_Is_matched of one of its
 * requests in the loop. Errors found at the call are returned by it, later ones by the completing
 * call alone; MPI_Waitall and its kind give them in the statuses as MPI does (MPICH as
 * MPI_ERR_OTHER). An MPI without MPI_Pack_c drives MPI_Sendrecv_replace up to 1 GiB. Does not
 * block; a buffered send takes the memory of PENSTOCK_SLOTS messages, which takes seconds where
 * these have gigabytes. Source: ST III-C. */
PST_API int PST_Imatch(MPI_Request* request, MPI_Request* matching);
PST_API int PST_Imatchall(int count, MPI_Request requests[], MPI_Request* matching);

/* Sets *flag to 1 when the request is matched, else to 0, and drives matches that are under way. A
 * match may have failed where it stays 0, and may take more calls to end where it is 1: what ends
 * PST_Imatch is the completing call of its match. Does not block. Errors: PST_ERROR_ARGUMENT,
 * PST_ERROR_REQUEST. Source: ST III-C. */
PST_API int PST_Is_matched(MPI_Request request, int* flag);

/* The status that PST_Match gives, for requests matched by PST_Imatch. Does not block. Errors:
 * PST_ERROR_ARGUMENT, PST_ERROR_REQUEST, PST_ERROR_NOT_MATCHED. Source: Penstock. */
PST_API int PST_Match_status(MPI_Request request, MPI_Status* status);

/* Copies the name of the transport that serves a matched request ("peer", "peer-cuda", "peer-hip",
 * "ofi", "proxy", "null" for MPI_PROC_NULL), cut to size-1 characters and terminated. Does not
 * block. Errors: PST_ERROR_ARGUMENT, PST_ERROR_REQUEST, PST_ERROR_NOT_MATCHED. Source: Penstock. */
PST_API int PST_Request_transport(MPI_Request request, char* name, int size);

/* ---- Enqueueing ------------------------------------------------------------------------------ */

/* Enqueues the start of matched requests. Stream order: the message of a send holds what the
 * stream's earlier work wrote; a receive's buffer may be written as soon as the stream gets here. A
 * start never makes the stream wait. Does not block. A count of 0 does nothing; in arrays all
 * requests are enqueued or, after an error, none. The starts of one call have no order among
 * themselves, as in MPI_Startall: the receive of a ready send that answers one of them is started
 * by an earlier call. Errors: PST_ERROR_ARGUMENT, PST_ERROR_QUEUE, PST_ERROR_REQUEST,
 * PST_ERROR_NOT_MATCHED, PST_ERROR_ALREADY_STARTED, PST_ERROR_PEER_FREED (the peer's half is seen
 * to be gone), PST_ERROR_STREAM (the request comes from a stream behind which it cannot be
 * ordered), PST_ERROR_RESOURCES, and the queue's own error after a failure of communication.
 * Source: ST III-D. */
PST_API int PST_Enqueue_start(PST_Queue queue, MPI_Request* request);
PST_API int PST_Enqueue_startall(PST_Queue queue, int count, MPI_Request requests[]);

/* Enqueues a wait for requests started on this queue. Stream order: later work of the stream runs
 * when the requests are complete: receive buffers hold their messages, send buffers may be written.
 * The stream waits, the caller does not block. The request may be started again, on any queue, once
 * the wait is enqueued. Until then MPI_Start, MPI_Startall and MPI's own Wait and Test families
 * refuse it, with PST_ERROR_IN_USE. Errors: as above, PST_ERROR_NOT_STARTED, PST_ERROR_WRONG_QUEUE.
 * Source: ST III-D. */
PST_API int PST_Enqueue_wait(PST_Queue queue, MPI_Request* request);
PST_API int PST_Enqueue_waitall(PST_Queue queue, int count, MPI_Request requests[]);

/* Enqueues the starts of all requests and then the waits for all of them, in one call: what two
 * ranks exchange can stand in one array on each. Stream order: later work of the stream runs when
 * all are complete. The stream waits, the caller does not block. A count of 0 does nothing; all
 * requests are enqueued or, after an error, none. Errors: those of PST_Enqueue_startall. Source:
 * Penstock. */
PST_API int PST_Enqueue_run(PST_Queue queue, MPI_Request* request);
PST_API int PST_Enqueue_runall(PST_Queue queue, int count, MPI_Request requests[]);

/* PST_Enqueue_waitall for everything started or triggered on the queue that has no wait enqueued
 * yet. Does not block. Errors: PST_ERROR_QUEUE, PST_ERROR_NOT_STARTED (something was not started in
 * the same graph capture), the queue's own error. Source: ST Fig. 3. */
PST_API int PST_Enqueue_wait_outstanding(PST_Queue queue);

/* ---- Messages that MPI matches --------------------------------------------------------------- */

/* Sends and receives that are not matched beforehand: each is enqueued once, and one trigger hands
 * all that have been enqueued since the trigger before to MPI, from the stream. MPI matches them,
 * so the other end may be any call of MPI: enqueued, plain, persistent, a probe. They need
 * MPI_THREAD_MULTIPLE. On a queue over a stream of a GPU a message in the GPU's memory travels
 * through pinned memory of the queue. Where both ends repeat their messages, matched requests are
 * faster. See docs/queue.md. */

/* Creates a queue over `stream`, which is the handle itself, not its address: a PST_Stream, or a
 * GPU's stream. `comm` is for calls that pass MPI_COMM_NULL; where it is that itself, every call
 * names one. The queue is like one of PST_Queue_init in all else. Over a stream of a GPU it
 * reserves PENSTOCK_QUEUE_STAGING bytes of pinned memory. Allocating it may block until kernels
 * that run on the device have ended: make the queue before anything is enqueued that waits. Local;
 * does not block but for that. Errors: those of PST_Queue_init; where `comm` is given,
 * PST_ERROR_THREAD_LEVEL. Source: HPE, Penstock. */
PST_API int PST_Queue_create(MPI_Comm comm, void* stream, PST_Queue* queue);

/* What PST_Queue_free does, for a handle by value. Errors: those of PST_Queue_free. Source: HPE. */
PST_API int PST_Queue_close(PST_Queue queue);

/* Enqueues a send (receive) for the next PST_Enqueue_trigger. Local: touches no stream, and never
 * waits. Any committed datatype, which may be freed after the call; any communicator, also an
 * intercommunicator or one of spawned processes; MPI_COMM_NULL stands for the queue's own.
 * MPI_PROC_NULL completes with its trigger. The buffer is MPI's from the trigger until the stream
 * has passed a wait behind it. `request` may be null: then no request is made. Otherwise *request
 * is an MPI request for MPI's Wait and Test families, with or without a wait on the stream, and for
 * MPI_Request_free, after which the message goes on. It gives a receive's status, and cannot be
 * cancelled. A request that the program never completes is freed with the queue, and must not be
 * used after that. A wait for one whose message nothing triggers never ends. MPI_Comm_free refuses
 * a communicator while messages on it have not been handed to MPI. Counts as a call of MPI. Errors:
 * PST_ERROR_QUEUE, PST_ERROR_ARGUMENT (a negative count; a rank or tag out of range;
 * MPI_ANY_SOURCE, MPI_ANY_TAG; a null buffer; no communicator; after PST_Comm_enqueue_only a
 * datatype that is not committed), PST_ERROR_COMMUNICATOR (the queue's has been freed),
 * PST_ERROR_THREAD_LEVEL, PST_ERROR_UNSUPPORTED (the buffer is in memory of a GPU, and the queue's
 * stream is the host's or another GPU's, and MPI is not said to take such memory; the datatype
 * there is one that MPI alone can take apart), PST_ERROR_RESOURCES (also: the queue's pinned memory
 * is full until the next wait of the stream), PST_ERROR_MPI, and the queue's own error. Source:
 * HPE. */
PST_API int PST_Enqueue_send(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                             MPI_Comm comm, PST_Queue queue, MPI_Request* request);
PST_API int PST_Enqueue_recv(void* buf, int count, MPI_Datatype datatype, int source, int tag,
                             MPI_Comm comm, PST_Queue queue, MPI_Request* request);

/* Enqueues the trigger of all that has been enqueued on the queue since the trigger before. Stream
 * order: when the stream gets here, these messages are handed to MPI, in the order of their calls
 * and behind those of earlier triggers of the queue; so sends hold what the stream's earlier work
 * wrote. It never makes the stream wait; does nothing where nothing is enqueued.
 * PST_Enqueue_wait_outstanding makes the stream wait for all that has been triggered on the queue
 * before it, and PST_Queue_wait the caller; neither waits for what is not triggered. Does not
 * block. After a failure of communication on the queue nothing is handed to MPI any more, and the
 * requests of what was enqueued complete with that error. Errors: PST_ERROR_QUEUE,
 * PST_ERROR_RESOURCES, PST_ERROR_UNSUPPORTED (the stream is being captured), and the queue's own
 * error. Source: HPE. */
PST_API int PST_Enqueue_trigger(PST_Queue queue);

/* Promises that from now on every message between two members of `comm` is enqueued at both ends,
 * with PST_Enqueue_send and PST_Enqueue_recv (or is a matched request's). Then no matching is
 * needed: of each two members and each tag message n meets receive n, counted by the calls of
 * PST_Enqueue_trigger, in the host's order. Between processes of a host small messages go from
 * memory to memory, without MPI; larger ones, and those between hosts, stay MPI's. Collectives stay
 * free. A plain call on `comm` never meets an enqueued one. Collective over `comm`, and
 * so is MPI_Comm_free of it then: both block until all members have called them. Does nothing the
 * second time. Needs MPI_THREAD_MULTIPLE. Every member's answer is the same. Errors:
 * PST_ERROR_COMMUNICATOR for MPI_COMM_NULL or members outside MPI_COMM_WORLD, PST_ERROR_UNSUPPORTED
 * for an intercommunicator, PST_ERROR_THREAD_LEVEL, PST_ERROR_IN_USE while enqueued messages on it
 * have not been handed to MPI, PST_ERROR_RESOURCES; where a member does not come
 * PST_ERROR_PEER_DEAD and PST_ERROR_TIMEOUT, and then the collectives of `comm` match no more, and
 * MPI_Comm_free of it is PST_ERROR_IN_USE. Source: Penstock. */
PST_API int PST_Comm_enqueue_only(MPI_Comm comm);

/* ---- Windows --------------------------------------------------------------------------------- */

/* One-sided epochs whose calls are work of a stream. A target exposes its part of a window to a
 * group of origins (post) and ends that epoch (wait); an origin opens an access epoch to a group of
 * targets (MPI_Win_start), lists puts, gets and accumulates in it, and closes it (complete), which
 * moves what is listed. Between an origin and a target the n-th start that names the target meets
 * the n-th post that names the origin; groups may change from epoch to epoch. A window may have one
 * access epoch and one exposure epoch open, also at once. The next post may come when the wait of
 * the one before is enqueued, the next start when the complete is. See docs/rma.md. */

/* Added to the assertion of MPI_Win_start: the epoch is closed by PST_Win_complete_stream. It is no
 * MPI_MODE_, and MPI never sees it. */
#define PST_MODE_STREAM 0x20000000

/* Makes a window of MPI_Win_create, MPI_Win_allocate or MPI_Win_allocate_shared take streams,
 * beside MPI's own epochs. Chooses a transport for each member and reserves all that epochs will
 * need. Collective over the window's group; blocks until all members have called it; does nothing
 * the second time. Every member's answer is the same. Two threads must not attach windows of the
 * same members at once. The window is freed by MPI_Win_free. Errors: PST_ERROR_WINDOW for
 * MPI_WIN_NULL, PST_ERROR_UNSUPPORTED for dynamic windows, PST_ERROR_COMMUNICATOR for members
 * outside MPI_COMM_WORLD, PST_ERROR_TRANSPORT, PST_ERROR_THREAD_LEVEL for members on several hosts
 * below MPI_THREAD_MULTIPLE, PST_ERROR_RESOURCES; on those that still wait PST_ERROR_PEER_DEAD,
 * but for a process that ends while MPI makes a communicator, or its own window, in this call.
 * Source: Penstock. */
PST_API int PST_Win_attach(MPI_Win win);

/* MPI_Win_create, and PST_Win_attach. Collective over `comm`; blocks. The memory is the host's on
 * all members, or cudaMalloc's on GPUs that address each other; a part of no bytes goes with the
 * others. Errors: those of both; after an error there is no window. Source: MPI, Penstock. */
PST_API int PST_Win_create(void* base, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm,
                           MPI_Win* win);

/* Allocates `size` bytes as PST_Alloc_mem does and writes their address to the pointer at
 * `baseptr`: memory that processes of the host load and store directly. Then does what
 * PST_Win_create does. MPI_Win_free frees the memory, too. Collective over `comm`; blocks. Errors:
 * as PST_Win_create and PST_Alloc_mem. Source: MPI, Penstock. */
PST_API int PST_Win_allocate(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm,
                             void* baseptr, MPI_Win* win);

/* Opens the exposure epoch: from this point of the stream on the origins in `group` may read and
 * write this rank's part of the window. Stream order: what the stream did before comes before their
 * accesses. It never makes the stream wait. MPI_MODE_NOCHECK in `assert`, as in the origins'
 * starts, promises that the stream gets here before their completes run, and then nothing is
 * enqueued; other assertions are ignored. Does not block. Errors: PST_ERROR_WINDOW,
 * PST_ERROR_QUEUE, PST_ERROR_EPOCH (an exposure epoch is open), PST_ERROR_ARGUMENT (the group has a
 * process that is none of the window's), PST_ERROR_UNSUPPORTED (the window is in memory of the host
 * and the queue over a GPU's stream, or the reverse; another GPU's), PST_ERROR_RESOURCES,
 * PST_ERROR_PEER_FREED, and the queue's own error. Source: STRMA, MPI. */
PST_API int PST_Win_post_stream(MPI_Group group, int assert, MPI_Win win, PST_Queue queue);

/* Opens the access epoch to the targets in `group`, on the host alone, as MPI_Win_start(group,
 * assert | PST_MODE_STREAM, win) does where libpenstock records MPI's calls. Then PST_Put, PST_Get
 * and PST_Accumulate, or MPI_Put, MPI_Get and MPI_Accumulate, list what is to be moved. They check
 * their arguments and touch no buffer: the origin's buffers must stay until the stream has passed
 * the complete, and kernels may write them until it gets there. Both sides of an operation have as
 * many bytes, without gaps; of an accumulate the type is a number of 4 or 8 bytes, the
 * operation predefined. Accumulates are atomic for each element, and are done in the program's
 * order by one origin. MPI_PROC_NULL is no target: nothing happens. With MPI_MODE_NOCHECK in
 * `assert` the complete looks for no post: the program promises that they run before. None of them
 * blocks. Errors: PST_ERROR_WINDOW, PST_ERROR_EPOCH (an access epoch is open; none is; the rank is
 * not in its group), PST_ERROR_ARGUMENT, PST_ERROR_RANGE, PST_ERROR_UNSUPPORTED (datatypes with
 * gaps; a get from memory that this rank cannot load; other operations; on a GPU an origin's buffer
 * elsewhere than in its memory, and an accumulate over a link without atomic operations),
 * PST_ERROR_RESOURCES (more than a slot holds, where memory is reached by slots alone). Source:
 * STRMA, MPI. */
PST_API int PST_Win_start(MPI_Group group, int assert, MPI_Win win);
PST_API int PST_Put(const void* origin, int origin_count, MPI_Datatype origin_type, int target,
                    MPI_Aint target_disp, int target_count, MPI_Datatype target_type, MPI_Win win);
PST_API int PST_Get(void* origin, int origin_count, MPI_Datatype origin_type, int target,
                    MPI_Aint target_disp, int target_count, MPI_Datatype target_type, MPI_Win win);
PST_API int PST_Accumulate(const void* origin, int origin_count, MPI_Datatype origin_type,
                           int target, MPI_Aint target_disp, int target_count,
                           MPI_Datatype target_type, MPI_Op op, MPI_Win win);

/* Opens the access epoch in stream order: later work of the stream runs when the targets in `group`
 * have posted, and may load and store their parts through PST_Win_pointer, without a copy, until
 * the complete. Operations may be listed as after PST_Win_start. PST_Win_complete_stream is
 * enqueued on the same queue, behind that work, in the same graph capture; then the targets' waits
 * tell them of the stores. PST_Queue_wait closes no epoch. In a batch the call launches what it has
 * gathered. MPI_MODE_NOCHECK in `assert`: as in PST_Win_start. Does not block. Errors: those of
 * PST_Win_start, and as PST_Win_complete_stream; nothing is open then. Where the queue fails later,
 * work of the program that has been enqueued still runs. Source: Penstock, STRMA. */
PST_API int PST_Win_start_stream(MPI_Group group, int assert, MPI_Win win, PST_Queue queue);

/* Writes the address at which this rank's streams load and store the part of `rank`, one of the
 * window's group, to the pointer at `pointer`: null for a part of no bytes. It holds until the
 * window is freed, and is used in epochs of PST_Win_start_stream, or for this rank's own part. Does
 * not block. Errors: PST_ERROR_WINDOW, PST_ERROR_ARGUMENT, PST_ERROR_UNSUPPORTED (memory that
 * another process cannot address: not of PST_Win_allocate or PST_Alloc_mem, nor of a GPU). Source:
 * Penstock, MPI (MPI_Win_shared_query). */
PST_API int PST_Win_pointer(MPI_Win win, int rank, void* pointer);

/* Closes the access epoch: what it lists moves, in stream order. Stream order: origin buffers hold
 * what the stream's earlier work wrote; later work runs when they may be written again and gets
 * have come. That may have to wait for the targets' posts. It says nothing of the targets' memory:
 * their wait does. Does not block. Errors: PST_ERROR_WINDOW, PST_ERROR_QUEUE, PST_ERROR_EPOCH (none
 * is open; this rank is a target of its own and has not posted), PST_ERROR_UNSUPPORTED (as of the
 * post), PST_ERROR_RESOURCES, PST_ERROR_PEER_FREED, and the queue's own error; the epoch stays
 * open. Source: STRMA, MPI. */
PST_API int PST_Win_complete_stream(MPI_Win win, PST_Queue queue);

/* Closes the exposure epoch. Stream order: later work of the stream runs when all origins of the
 * epoch's group have completed, and sees what they have moved. Enqueued on the queue of the post.
 * PST_Queue_wait closes no epoch. Does not block. Errors: PST_ERROR_WINDOW, PST_ERROR_QUEUE,
 * PST_ERROR_EPOCH (none is open), PST_ERROR_WRONG_QUEUE, PST_ERROR_NOT_STARTED (the post was in
 * another graph capture), PST_ERROR_RESOURCES, and the queue's own error. Source: STRMA, MPI. */
PST_API int PST_Win_wait_stream(MPI_Win win, PST_Queue queue);

/* These begin and end a batch on the queue. Meanwhile the three calls above share a launch of a
 * kernel on a GPU, as long as they stand in the order posts, completes, waits, over several windows
 * too; any other order begins a new launch. PST_Queue_batch_end launches what is left. A call that
 * enqueues anything else on the queue launches it before, and so do PST_Queue_wait, PST_Queue_test
 * and the calls that free the queue or the window. Stream order: that of the calls; but what the
 * program itself puts on the stream meanwhile may come before all of the batch. A batch lies in one
 * graph capture, or outside of captures. On host streams it changes nothing. Does not block.
 * Errors: PST_ERROR_QUEUE, PST_ERROR_ARGUMENT (begin: a batch is open; end: none is),
 * PST_ERROR_STREAM (end: a capture has begun or ended since the begin; all has been launched, and
 * the batch is over), and the queue's own. Source: STRMA (merged kernels). */
PST_API int PST_Queue_batch_begin(PST_Queue queue);
PST_API int PST_Queue_batch_end(PST_Queue queue);

/* MPI_Win_free for programs whose MPI calls libpenstock does not record. Waits until all members
 * have called it (PENSTOCK_TIMEOUT bounds that), then until what is enqueued for the window here
 * has ended; MPI's own messages move meanwhile, as in PST_Queue_wait. Collective over the window's
 * group; blocks. Errors: PST_ERROR_EPOCH while an epoch of streams, or of MPI's own, is open,
 * PST_ERROR_TIMEOUT, and MPI's own; the window stays. Source: MPI. */
PST_API int PST_Win_free(MPI_Win* win);

/* ---- Memory ---------------------------------------------------------------------------------- */

/* Allocates `size` bytes (64-byte aligned, page aligned from a page on) and writes their address to
 * the pointer at `baseptr`. Messages between such buffers of processes on one host are copied once,
 * without the help of the kernel. The info key mpi_memory_alloc_kinds is honoured ("system" and
 * "mpi" are served); neither its absence nor MPI_INFO_NULL is an error. Where shared memory is
 * short, ordinary memory is given and the log says so. A child of fork() shares the memory with its
 * parent: what either writes there, the other sees. Does not block. Any thread with MPI_INFO_NULL;
 * with an info object it calls MPI and follows its thread level. Errors: PST_ERROR_ARGUMENT
 * (negative size, null pointer), PST_ERROR_UNSUPPORTED (no kind of the info key is served),
 * PST_ERROR_RESOURCES. Source: MPI (MPI_Alloc_mem), Penstock. */
PST_API int PST_Alloc_mem(MPI_Aint size, MPI_Info info, void* baseptr);

/* Frees memory of PST_Alloc_mem. Requests over it must have been freed before. A null pointer does
 * nothing. Does not block. Any thread. Error: PST_ERROR_ARGUMENT for any other pointer that is not
 * from PST_Alloc_mem. Source: MPI, Penstock. */
PST_API int PST_Free_mem(void* base);

/* Makes `size` bytes at `base` of rank `owner` memory of all ranks of `team`, who share memory: the
 * address at which each has them is written to the pointer at `mineptr`; the owner's is `base`.
 * They lie inside one allocation of PST_Alloc_mem or PST_Win_allocate, or of cudaMalloc on a GPU
 * that all ranks see; `base` is looked at on the owner alone, and names one such memory at a time.
 * What is said between the ranks about its contents is the program's: PST_Team_allreduce_init
 * orders its own use. Collective over `team`; blocks, as MPI's collectives do: PENSTOCK_TIMEOUT
 * does not bound it. Errors, on all ranks alike: PST_ERROR_ARGUMENT, PST_ERROR_UNSUPPORTED (other
 * memory; a rank that does not reach it), PST_ERROR_COMMUNICATOR, PST_ERROR_RESOURCES,
 * PST_ERROR_MPI; on those that still wait PST_ERROR_PEER_DEAD (a process of the team has ended;
 * but one that ends while MPI makes a communicator in this call may keep the others in MPI).
 * Source: Penstock. */
PST_API int PST_Team_memory(void* base, MPI_Aint size, int owner, MPI_Comm team, void* mineptr);

/* Ends it. Requests over it must have been freed before, when their streams had done with them.
 * When it returns no other rank has the memory any more, and the owner may free it. A null pointer
 * does nothing. Collective over the team; blocks until all ranks have called it (PENSTOCK_TIMEOUT
 * bounds that). What is left at the end is ended by MPI_Finalize. Errors: PST_ERROR_ARGUMENT (an
 * address that is none of PST_Team_memory), PST_ERROR_TIMEOUT, PST_ERROR_PEER_DEAD, after which
 * others may still use it to the end. Source: Penstock. */
PST_API int PST_Team_memory_free(void* mine);

#ifdef __cplusplus
}
#endif

/* The rest of the C API. */
#include <penstock/bag.h>
#include <penstock/channel.h>
#include <penstock/device.h>

#endif /* PENSTOCK_PENSTOCK_H */
