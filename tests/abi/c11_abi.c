/* SPDX-License-Identifier: Apache-2.0
 * The public headers as C11: that they compile, that constants and types are what they were, and
 * that each function has the type it is documented with. A line here changes only with the ABI.
 */
#include <mpi.h>
#include <penstock/mpix.h>
#include <penstock/penstock.h>
#include <stdio.h>

#define SAME(name, value) _Static_assert((name) == (value), #name " must stay " #value)
SAME(PST_QUEUE_HOST, 0);
SAME(PST_QUEUE_CUDA, 1);
SAME(PST_QUEUE_HIP, 2);
SAME(MPIX_QUEUE_HOST, 0);
SAME(MPIX_QUEUE_CUDA, 1);
SAME(MPIX_QUEUE_HIP, 2);
SAME(MPIX_QUEUE_TYPE_HOST, 0);
SAME(MPIX_QUEUE_TYPE_CUDA, 1);
SAME(MPIX_QUEUE_TYPE_HIP, 2);

SAME(PST_ERROR_NONE, 0);
SAME(PST_ERROR_NOT_INITIALIZED, 1);
SAME(PST_ERROR_ARGUMENT, 2);
SAME(PST_ERROR_QUEUE, 3);
SAME(PST_ERROR_STREAM, 4);
SAME(PST_ERROR_REQUEST, 5);
SAME(PST_ERROR_NOT_MATCHED, 6);
SAME(PST_ERROR_ALREADY_MATCHED, 7);
SAME(PST_ERROR_ALREADY_STARTED, 8);
SAME(PST_ERROR_NOT_STARTED, 9);
SAME(PST_ERROR_WRONG_QUEUE, 10);
SAME(PST_ERROR_IN_USE, 11);
SAME(PST_ERROR_COMMUNICATOR, 12);
SAME(PST_ERROR_TRUNCATE, 13);
SAME(PST_ERROR_BUFFER, 14);
SAME(PST_ERROR_TRANSPORT, 15);
SAME(PST_ERROR_THREAD_LEVEL, 16);
SAME(PST_ERROR_UNSUPPORTED, 17);
SAME(PST_ERROR_RESOURCES, 18);
SAME(PST_ERROR_PEER_DEAD, 19);
SAME(PST_ERROR_PEER_FREED, 20);
SAME(PST_ERROR_TIMEOUT, 21);
SAME(PST_ERROR_READY, 22);
SAME(PST_ERROR_SETTING, 23);
SAME(PST_ERROR_MPI, 24);
SAME(PST_ERROR_INTERNAL, 25);
SAME(PST_ERROR_FORKED, 26);
SAME(PST_ERROR_WINDOW, 27);
SAME(PST_ERROR_EPOCH, 28);
SAME(PST_ERROR_RANGE, 29);
SAME(PST_ERROR_ASSERTION, 30);

SAME(PST_TYPE_FLOAT16, 0);
SAME(PST_TYPE_BFLOAT16, 1);

/* No mode of MPI's. */
SAME(PST_MODE_STREAM, 0x20000000);
_Static_assert((PST_MODE_STREAM & (MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT |
                                   MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED)) == 0,
               "PST_MODE_STREAM is a mode of MPI's");

SAME(sizeof(PST_Queue), sizeof(void*));
SAME(sizeof(PST_Stream), sizeof(void*));
SAME(sizeof(PST_Queue_type), sizeof(int));
SAME(sizeof(PST_Type), sizeof(int));
SAME(sizeof(PST_Error), sizeof(int));
SAME(PST_VERSION, PST_VERSION_MAJOR * 10000 + PST_VERSION_MINOR * 100 + PST_VERSION_PATCH);

#define TYPED(name, ...)                                                       \
  _Static_assert(_Generic(&name, int (*)(__VA_ARGS__) : 1, default : 0), #name \
                 " has another "                                               \
                 "type")
TYPED(PST_Init, void);
TYPED(PST_Finalize, void);
TYPED(PST_Initialized, int*);
TYPED(PST_Get_version, int*, int*, int*);
TYPED(PST_Describe, char*, int, int*);
TYPED(PST_Describe_environment, char*, int, int*);
TYPED(PST_Error_kind, int, PST_Error*);
TYPED(PST_Last_error, char*, int);
TYPED(PST_Comm_attach, MPI_Comm);
TYPED(PST_Comm_enqueue_only, MPI_Comm);
TYPED(PST_Stream_create, PST_Stream*);
TYPED(PST_Stream_launch, PST_Stream, void (*)(void*), void*);
TYPED(PST_Stream_synchronize, PST_Stream);
TYPED(PST_Stream_free, PST_Stream*);
TYPED(PST_Stream_queue, void*, PST_Queue*);
TYPED(PST_Queue_batch_begin, PST_Queue);
TYPED(PST_Queue_batch_end, PST_Queue);
TYPED(PST_Queue_init, PST_Queue*, PST_Queue_type, void*);
TYPED(PST_Queue_free, PST_Queue*);
TYPED(PST_Queue_wait, PST_Queue);
TYPED(PST_Queue_test, PST_Queue, int*);
TYPED(PST_Send_init, const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
TYPED(PST_Ssend_init, const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
TYPED(PST_Rsend_init, const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
TYPED(PST_Bsend_init, const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
TYPED(PST_Recv_init, void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
TYPED(PST_Request_free, MPI_Request*);
TYPED(PST_Match, MPI_Request*, MPI_Status*);
TYPED(PST_Matchall, int, MPI_Request[], MPI_Status[]);
TYPED(PST_Imatch, MPI_Request*, MPI_Request*);
TYPED(PST_Imatchall, int, MPI_Request[], MPI_Request*);
TYPED(PST_Is_matched, MPI_Request, int*);
TYPED(PST_Match_status, MPI_Request, MPI_Status*);
TYPED(PST_Request_transport, MPI_Request, char*, int);
TYPED(PST_Request_device, PST_Queue, MPI_Request, int, PST_Device_request*);
TYPED(PST_Enqueue_start, PST_Queue, MPI_Request*);
TYPED(PST_Enqueue_startall, PST_Queue, int, MPI_Request[]);
TYPED(PST_Enqueue_wait, PST_Queue, MPI_Request*);
TYPED(PST_Enqueue_waitall, PST_Queue, int, MPI_Request[]);
TYPED(PST_Enqueue_run, PST_Queue, MPI_Request*);
TYPED(PST_Enqueue_runall, PST_Queue, int, MPI_Request[]);
TYPED(PST_Enqueue_wait_outstanding, PST_Queue);
TYPED(PST_Queue_create, MPI_Comm, void*, PST_Queue*);
TYPED(PST_Queue_close, PST_Queue);
TYPED(PST_Enqueue_send, const void*, int, MPI_Datatype, int, int, MPI_Comm, PST_Queue,
      MPI_Request*);
TYPED(PST_Enqueue_recv, void*, int, MPI_Datatype, int, int, MPI_Comm, PST_Queue, MPI_Request*);
TYPED(PST_Enqueue_trigger, PST_Queue);
TYPED(PST_Barrier_init, MPI_Comm, MPI_Info, MPI_Request*);
TYPED(PST_Bcast_init, void*, MPI_Count, MPI_Datatype, int, MPI_Comm, MPI_Info, MPI_Request*);
TYPED(PST_Reduce_init, const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, int, MPI_Comm, MPI_Info,
      MPI_Request*);
TYPED(PST_Allgather_init, const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype,
      MPI_Comm, MPI_Info, MPI_Request*);
TYPED(PST_Alltoall_init, const void*, MPI_Count, MPI_Datatype, void*, MPI_Count, MPI_Datatype,
      MPI_Comm, MPI_Info, MPI_Request*);
TYPED(PST_Alltoallv_init, const void*, const MPI_Count*, const MPI_Aint*, MPI_Datatype, void*,
      const MPI_Count*, const MPI_Aint*, MPI_Datatype, MPI_Comm, MPI_Info, MPI_Request*);
TYPED(PST_Allreduce_init, const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info,
      MPI_Request*);
TYPED(PST_Reduce_scatter_block_init, const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm,
      MPI_Info, MPI_Request*);
TYPED(PST_Team_allreduce_init, const void*, void*, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm,
      MPI_Comm, MPI_Info, MPI_Request*);
TYPED(PST_Type_get, PST_Type, MPI_Datatype*);
TYPED(PST_Request_algorithm, MPI_Request, char*, int);
TYPED(PST_Alloc_mem, MPI_Aint, MPI_Info, void*);
TYPED(PST_Free_mem, void*);
TYPED(PST_Channel_send_init, const void*, MPI_Count, MPI_Datatype, MPI_Count, int, int, MPI_Comm,
      MPI_Info, MPI_Request*);
TYPED(PST_Channel_recv_init, void*, MPI_Count, MPI_Datatype, MPI_Count, int, int, MPI_Comm,
      MPI_Info, MPI_Request*);
TYPED(PST_Channel_buffer, MPI_Request, void*);
TYPED(PST_Channel_put, PST_Queue, MPI_Request, MPI_Count, MPI_Count);
TYPED(PST_Channel_put_wait, PST_Queue, MPI_Request, MPI_Count, MPI_Count);
TYPED(PST_Channel_wait, PST_Queue, MPI_Request, MPI_Count, MPI_Count);
TYPED(PST_Channel_release, PST_Queue, MPI_Request, MPI_Count, MPI_Count);
TYPED(PST_Channel_test, MPI_Request, MPI_Count, MPI_Count, int*);
TYPED(PST_Pready, PST_Queue, int, MPI_Request);
TYPED(PST_Pready_range, PST_Queue, int, int, MPI_Request);
TYPED(PST_Pready_list, PST_Queue, int, const int*, MPI_Request);
TYPED(PST_Parrived, MPI_Request, int, int*);
TYPED(PST_Bag_recv_init, void*, int, MPI_Count, MPI_Datatype, int, const int*, int, MPI_Comm,
      MPI_Info, MPI_Request*);
TYPED(PST_Bag_send_init, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request*);
TYPED(PST_Bag_put, PST_Queue, MPI_Request, const void*, MPI_Count);
TYPED(PST_Bag_grab, PST_Queue, MPI_Request, PST_Grabbed*);
TYPED(PST_Bag_release, PST_Queue, MPI_Request, const PST_Grabbed*);
TYPED(PST_Team_memory, void*, MPI_Aint, int, MPI_Comm, void*);
TYPED(PST_Team_memory_free, void*);
TYPED(PST_Win_attach, MPI_Win);
TYPED(PST_Win_create, void*, MPI_Aint, int, MPI_Info, MPI_Comm, MPI_Win*);
TYPED(PST_Win_allocate, MPI_Aint, int, MPI_Info, MPI_Comm, void*, MPI_Win*);
TYPED(PST_Win_post_stream, MPI_Group, int, MPI_Win, PST_Queue);
TYPED(PST_Win_start, MPI_Group, int, MPI_Win);
TYPED(PST_Win_start_stream, MPI_Group, int, MPI_Win, PST_Queue);
TYPED(PST_Win_pointer, MPI_Win, int, void*);
TYPED(PST_Put, const void*, int, MPI_Datatype, int, MPI_Aint, int, MPI_Datatype, MPI_Win);
TYPED(PST_Get, void*, int, MPI_Datatype, int, MPI_Aint, int, MPI_Datatype, MPI_Win);
TYPED(PST_Accumulate, const void*, int, MPI_Datatype, int, MPI_Aint, int, MPI_Datatype, MPI_Op,
      MPI_Win);
TYPED(PST_Win_complete_stream, MPI_Win, PST_Queue);
TYPED(PST_Win_wait_stream, MPI_Win, PST_Queue);
TYPED(PST_Win_free, MPI_Win*);

/* Every function above must also link: the table is read, so that no entry is dropped. */
typedef void (*Function)(void);
static const Function table[] = {
    (Function)PST_Init,
    (Function)PST_Finalize,
    (Function)PST_Initialized,
    (Function)PST_Get_version,
    (Function)PST_Describe,
    (Function)PST_Describe_environment,
    (Function)PST_Error_kind,
    (Function)PST_Last_error,
    (Function)PST_Comm_attach,
    (Function)PST_Comm_enqueue_only,
    (Function)PST_Stream_create,
    (Function)PST_Stream_launch,
    (Function)PST_Stream_synchronize,
    (Function)PST_Stream_free,
    (Function)PST_Stream_queue,
    (Function)PST_Queue_batch_begin,
    (Function)PST_Queue_batch_end,
    (Function)PST_Queue_init,
    (Function)PST_Queue_free,
    (Function)PST_Queue_wait,
    (Function)PST_Queue_test,
    (Function)PST_Send_init,
    (Function)PST_Ssend_init,
    (Function)PST_Rsend_init,
    (Function)PST_Bsend_init,
    (Function)PST_Recv_init,
    (Function)PST_Request_free,
    (Function)PST_Match,
    (Function)PST_Matchall,
    (Function)PST_Imatch,
    (Function)PST_Imatchall,
    (Function)PST_Is_matched,
    (Function)PST_Match_status,
    (Function)PST_Request_transport,
    (Function)PST_Request_device,
    (Function)PST_Enqueue_start,
    (Function)PST_Enqueue_startall,
    (Function)PST_Enqueue_wait,
    (Function)PST_Enqueue_waitall,
    (Function)PST_Enqueue_run,
    (Function)PST_Enqueue_runall,
    (Function)PST_Enqueue_wait_outstanding,
    (Function)PST_Queue_create,
    (Function)PST_Queue_close,
    (Function)PST_Enqueue_send,
    (Function)PST_Enqueue_recv,
    (Function)PST_Enqueue_trigger,
    (Function)PST_Barrier_init,
    (Function)PST_Bcast_init,
    (Function)PST_Reduce_init,
    (Function)PST_Allgather_init,
    (Function)PST_Alltoall_init,
    (Function)PST_Alltoallv_init,
    (Function)PST_Allreduce_init,
    (Function)PST_Reduce_scatter_block_init,
    (Function)PST_Team_allreduce_init,
    (Function)PST_Type_get,
    (Function)PST_Request_algorithm,
    (Function)PST_Alloc_mem,
    (Function)PST_Free_mem,
    (Function)PST_Channel_send_init,
    (Function)PST_Channel_recv_init,
    (Function)PST_Channel_buffer,
    (Function)PST_Channel_put,
    (Function)PST_Channel_put_wait,
    (Function)PST_Channel_wait,
    (Function)PST_Channel_release,
    (Function)PST_Channel_test,
    (Function)PST_Pready,
    (Function)PST_Pready_range,
    (Function)PST_Pready_list,
    (Function)PST_Parrived,
    (Function)PST_Bag_recv_init,
    (Function)PST_Bag_send_init,
    (Function)PST_Bag_put,
    (Function)PST_Bag_grab,
    (Function)PST_Bag_release,
    (Function)PST_Team_memory,
    (Function)PST_Team_memory_free,
    (Function)PST_Win_attach,
    (Function)PST_Win_create,
    (Function)PST_Win_allocate,
    (Function)PST_Win_post_stream,
    (Function)PST_Win_start,
    (Function)PST_Win_start_stream,
    (Function)PST_Win_pointer,
    (Function)PST_Put,
    (Function)PST_Get,
    (Function)PST_Accumulate,
    (Function)PST_Win_complete_stream,
    (Function)PST_Win_wait_stream,
    (Function)PST_Win_free,
};

int main(void) {
  int major = -1, minor = -1, patch = -1;
  char text[16] = "unset";
  /* These work before MPI_Init. */
  if (PST_Get_version(&major, &minor, &patch) != MPI_SUCCESS) return 1;
  printf("library %d.%d.%d, header %d.%d.%d\n", major, minor, patch, PST_VERSION_MAJOR,
         PST_VERSION_MINOR, PST_VERSION_PATCH);
  if (major * 10000 + minor * 100 + patch != PST_VERSION) return 2;
  if (PST_Last_error(text, (int)sizeof text) != MPI_SUCCESS || text[0] != '\0') return 3;
  for (size_t i = 0; i < sizeof table / sizeof table[0]; ++i) {
    if (table[i] == (Function)0) return 4;
  }
  return 0;
}
