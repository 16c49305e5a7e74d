// SPDX-License-Identifier: Apache-2.0
// Persistent collectives and partitioned messages are recorded with their kind, so that matching
// one fails with an error that names it.
#include "api/recording_guard.hpp"
#include "penstock_recorder_config.h"

namespace {

using penstock::core::RequestKind;

[[maybe_unused]] int recorded(RequestKind kind, const char* call, MPI_Comm comm,
                              const MPI_Request* request, int code) {
  if (code == MPI_SUCCESS) penstock::api::record_unmatchable(kind, call, comm, *request);
  return code;
}

}  // namespace

#if PENSTOCK_HAVE_MPI_Psend_init
int MPI_Psend_init(const void* buf, int partitions, MPI_Count count, MPI_Datatype datatype,
                   int dest, int tag, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return recorded(
      RequestKind::partitioned, "MPI_Psend_init", comm, request,
      PMPI_Psend_init(buf, partitions, count, datatype, dest, tag, comm, info, request));
}

int MPI_Precv_init(void* buf, int partitions, MPI_Count count, MPI_Datatype datatype, int source,
                   int tag, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return recorded(
      RequestKind::partitioned, "MPI_Precv_init", comm, request,
      PMPI_Precv_init(buf, partitions, count, datatype, source, tag, comm, info, request));
}
#endif

// One function: its parameters before (comm, info, request), and the same as arguments.
#define PENSTOCK_STRIP(...) __VA_ARGS__
#define PENSTOCK_COLLECTIVE(name, parameters, arguments)                                    \
  int name(PENSTOCK_STRIP parameters, MPI_Comm comm, MPI_Info info, MPI_Request* request) { \
    return recorded(RequestKind::collective, #name, comm, request,                          \
                    P##name(PENSTOCK_STRIP arguments, comm, info, request));                \
  }

// All of them, with counts as int or MPI_Count (and displacements as int or MPI_Aint).
#define PENSTOCK_COLLECTIVES(suffix, Count, Displacement)                                          \
  PENSTOCK_COLLECTIVE(MPI_Bcast_init##suffix,                                                      \
                      (void* buffer, Count count, MPI_Datatype datatype, int root),                \
                      (buffer, count, datatype, root))                                             \
  PENSTOCK_COLLECTIVE(MPI_Gather_init##suffix,                                                     \
                      (const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf, \
                       Count recvcount, MPI_Datatype recvtype, int root),                          \
                      (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root))          \
  PENSTOCK_COLLECTIVE(                                                                             \
      MPI_Gatherv_init##suffix,                                                                    \
      (const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,                 \
       const Count recvcounts[], const Displacement displs[], MPI_Datatype recvtype, int root),    \
      (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root))                 \
  PENSTOCK_COLLECTIVE(MPI_Scatter_init##suffix,                                                    \
                      (const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf, \
                       Count recvcount, MPI_Datatype recvtype, int root),                          \
                      (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root))          \
  PENSTOCK_COLLECTIVE(                                                                             \
      MPI_Scatterv_init##suffix,                                                                   \
      (const void* sendbuf, const Count sendcounts[], const Displacement displs[],                 \
       MPI_Datatype sendtype, void* recvbuf, Count recvcount, MPI_Datatype recvtype, int root),    \
      (sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root))                 \
  PENSTOCK_COLLECTIVE(MPI_Reduce_init##suffix,                                                     \
                      (const void* sendbuf, void* recvbuf, Count count, MPI_Datatype datatype,     \
                       MPI_Op op, int root),                                                       \
                      (sendbuf, recvbuf, count, datatype, op, root))                               \
  PENSTOCK_REDUCTION(Allreduce, suffix, Count count, count)                                        \
  PENSTOCK_REDUCTION(Scan, suffix, Count count, count)                                             \
  PENSTOCK_REDUCTION(Exscan, suffix, Count count, count)                                           \
  PENSTOCK_REDUCTION(Reduce_scatter, suffix, const Count recvcounts[], recvcounts)                 \
  PENSTOCK_REDUCTION(Reduce_scatter_block, suffix, Count recvcount, recvcount)                     \
  PENSTOCK_ALLGATHER(Allgather, suffix, Count)                                                     \
  PENSTOCK_ALLGATHER(Alltoall, suffix, Count)                                                      \
  PENSTOCK_ALLGATHER(Neighbor_allgather, suffix, Count)                                            \
  PENSTOCK_ALLGATHER(Neighbor_alltoall, suffix, Count)                                             \
  PENSTOCK_ALLGATHERV(Allgatherv, suffix, Count, Displacement)                                     \
  PENSTOCK_ALLGATHERV(Neighbor_allgatherv, suffix, Count, Displacement)                            \
  PENSTOCK_ALLTOALLV(Alltoallv, suffix, Count, Displacement)                                       \
  PENSTOCK_ALLTOALLV(Neighbor_alltoallv, suffix, Count, Displacement)                              \
  PENSTOCK_ALLTOALLW(Alltoallw, suffix, Count, Displacement)                                       \
  PENSTOCK_ALLTOALLW(Neighbor_alltoallw, suffix, Count, MPI_Aint)

#define PENSTOCK_REDUCTION(verb, suffix, count_parameter, count_argument)                      \
  PENSTOCK_COLLECTIVE(                                                                         \
      MPI_##verb##_init##suffix,                                                               \
      (const void* sendbuf, void* recvbuf, count_parameter, MPI_Datatype datatype, MPI_Op op), \
      (sendbuf, recvbuf, count_argument, datatype, op))

#define PENSTOCK_ALLGATHER(verb, suffix, Count)                                                    \
  PENSTOCK_COLLECTIVE(MPI_##verb##_init##suffix,                                                   \
                      (const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf, \
                       Count recvcount, MPI_Datatype recvtype),                                    \
                      (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype))

#define PENSTOCK_ALLGATHERV(verb, suffix, Count, Displacement)                        \
  PENSTOCK_COLLECTIVE(                                                                \
      MPI_##verb##_init##suffix,                                                      \
      (const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,    \
       const Count recvcounts[], const Displacement displs[], MPI_Datatype recvtype), \
      (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype))

#define PENSTOCK_ALLTOALLV(verb, suffix, Count, Displacement)                       \
  PENSTOCK_COLLECTIVE(                                                              \
      MPI_##verb##_init##suffix,                                                    \
      (const void* sendbuf, const Count sendcounts[], const Displacement sdispls[], \
       MPI_Datatype sendtype, void* recvbuf, const Count recvcounts[],              \
       const Displacement rdispls[], MPI_Datatype recvtype),                        \
      (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype))

#define PENSTOCK_ALLTOALLW(verb, suffix, Count, Displacement)                       \
  PENSTOCK_COLLECTIVE(                                                              \
      MPI_##verb##_init##suffix,                                                    \
      (const void* sendbuf, const Count sendcounts[], const Displacement sdispls[], \
       const MPI_Datatype sendtypes[], void* recvbuf, const Count recvcounts[],     \
       const Displacement rdispls[], const MPI_Datatype recvtypes[]),               \
      (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes))

#if PENSTOCK_HAVE_MPI_Bcast_init
int MPI_Barrier_init(MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return recorded(RequestKind::collective, "MPI_Barrier_init", comm, request,
                  PMPI_Barrier_init(comm, info, request));
}
PENSTOCK_COLLECTIVES(, int, int)
#endif

#if PENSTOCK_HAVE_MPI_Bcast_init_c
PENSTOCK_COLLECTIVES(_c, MPI_Count, MPI_Aint)
#endif
