// SPDX-License-Identifier: Apache-2.0
// Persistent collectives are recorded with their arguments; those that cannot be matched with their
// kind, so that matching one fails with an error that names it.
#include <iterator>
#include <vector>

#include "api/collectives.hpp"
#include "api/recording_guard.hpp"
#include "group/mpi_handle.hpp"
#include "penstock_recorder_config.h"

#if PENSTOCK_HAVE_MPIX_Bcast_init
#include <mpi-ext.h>
#endif

namespace {

namespace coll = penstock::coll;
using penstock::core::RequestKind;

[[maybe_unused]] int recorded(RequestKind kind, const char* call, MPI_Comm comm,
                              const MPI_Request* request, int code) {
  if (code == MPI_SUCCESS) penstock::api::record_unmatchable(kind, call, comm, *request);
  return code;
}

// `fill` has the call's data.
template <class Fill>
[[maybe_unused]] int recorded(coll::CollectiveKind kind, const char* call, MPI_Comm comm,
                              MPI_Info info, const MPI_Request* request, int code, Fill&& fill) {
  if (code != MPI_SUCCESS) return code;
  const bool kept =
      penstock::api::recording(call, "the request is not recorded and cannot be matched", [&] {
        penstock::api::CollectiveArguments arguments;
        arguments.kind = kind;
        arguments.call = call;
        arguments.comm = comm;
        arguments.info = info;
        fill(arguments);
        penstock::api::record_collective(arguments, *request);
      });
  if (!kept) penstock::api::forget(*request);
  return code;
}

template <class To, class From>
[[maybe_unused]] std::vector<To> numbers_of(const From* numbers, std::size_t count) {
  return {numbers, numbers + count};
}

// The program may change its arrays after the call.
template <class Count, class Displacement>
[[maybe_unused]] int recorded_alltoallv(coll::CollectiveKind kind, const char* call,
                                        const void* sendbuf, const Count* sendcounts,
                                        const Displacement* sdispls, MPI_Datatype sendtype,
                                        void* recvbuf, const Count* recvcounts,
                                        const Displacement* rdispls, MPI_Datatype recvtype,
                                        MPI_Comm comm, MPI_Info info, const MPI_Request* request,
                                        int code) {
  std::vector<MPI_Count> send_counts, receive_counts;
  std::vector<MPI_Aint> send_places, receive_places;
  return recorded(
      kind, call, comm, info, request, code, [&](penstock::api::CollectiveArguments& arguments) {
        const auto blocks = penstock::api::block_counts(kind, comm);
        const std::size_t sends = sendbuf == MPI_IN_PLACE ? 0 : blocks.sends;
        send_counts = numbers_of<MPI_Count>(sendcounts, sends);
        send_places = numbers_of<MPI_Aint>(sdispls, sends);
        receive_counts = numbers_of<MPI_Count>(recvcounts, blocks.receives);
        receive_places = numbers_of<MPI_Aint>(rdispls, blocks.receives);
        arguments.sends = {sendbuf, send_counts.data(), send_places.data(), sends, sendtype};
        arguments.receives = {recvbuf, receive_counts.data(), receive_places.data(),
                              blocks.receives, recvtype};
      });
}

}  // namespace

// One function: its parameters before (comm, info, request), and the same as arguments.
#define PENSTOCK_STRIP(...) __VA_ARGS__
#define PENSTOCK_COLLECTIVE(name, parameters, arguments)                                    \
  int name(PENSTOCK_STRIP parameters, MPI_Comm comm, MPI_Info info, MPI_Request* request) { \
    return recorded(RequestKind::collective, #name, comm, request,                          \
                    P##name(PENSTOCK_STRIP arguments, comm, info, request));                \
  }

// One that can be matched: `data` says what of the arguments is the data.
#define PENSTOCK_MATCHED(kind, name, parameters, arguments, data)                            \
  int name(PENSTOCK_STRIP parameters, MPI_Comm comm, MPI_Info info, MPI_Request* request) {  \
    return recorded(coll::CollectiveKind::kind, #name, comm, info, request,                  \
                    P##name(PENSTOCK_STRIP arguments, comm, info, request),                  \
                    [&](penstock::api::CollectiveArguments& call) { PENSTOCK_STRIP data; }); \
  }

// All of them, with counts as int or MPI_Count (and displacements as int or MPI_Aint). `prefix`:
// MPI_, or MPIX_ where Open MPI has them before MPI-4.
#define PENSTOCK_COLLECTIVES(prefix, suffix, Count, Displacement)                                  \
  PENSTOCK_MATCHED(bcast, prefix##Bcast_init##suffix,                                              \
                   (void* buffer, Count count, MPI_Datatype datatype, int root),                   \
                   (buffer, count, datatype, root),                                                \
                   (call.receive = {buffer, count, datatype}, call.root = root))                   \
  PENSTOCK_COLLECTIVE(prefix##Gather_init##suffix,                                                 \
                      (const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf, \
                       Count recvcount, MPI_Datatype recvtype, int root),                          \
                      (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root))          \
  PENSTOCK_COLLECTIVE(                                                                             \
      prefix##Gatherv_init##suffix,                                                                \
      (const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,                 \
       const Count recvcounts[], const Displacement displs[], MPI_Datatype recvtype, int root),    \
      (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root))                 \
  PENSTOCK_COLLECTIVE(prefix##Scatter_init##suffix,                                                \
                      (const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf, \
                       Count recvcount, MPI_Datatype recvtype, int root),                          \
                      (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root))          \
  PENSTOCK_COLLECTIVE(                                                                             \
      prefix##Scatterv_init##suffix,                                                               \
      (const void* sendbuf, const Count sendcounts[], const Displacement displs[],                 \
       MPI_Datatype sendtype, void* recvbuf, Count recvcount, MPI_Datatype recvtype, int root),    \
      (sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root))                 \
  PENSTOCK_MATCHED(reduce, prefix##Reduce_init##suffix,                                            \
                   (const void* sendbuf, void* recvbuf, Count count, MPI_Datatype datatype,        \
                    MPI_Op op, int root),                                                          \
                   (sendbuf, recvbuf, count, datatype, op, root),                                  \
                   (call.send.buffer = sendbuf, call.receive = {recvbuf, count, datatype},         \
                    call.op = op, call.root = root))                                               \
  PENSTOCK_MATCHED_REDUCTION(allreduce, prefix, Allreduce, suffix, Count)                          \
  PENSTOCK_REDUCTION(prefix, Scan, suffix, Count count, count)                                     \
  PENSTOCK_REDUCTION(prefix, Exscan, suffix, Count count, count)                                   \
  PENSTOCK_REDUCTION(prefix, Reduce_scatter, suffix, const Count recvcounts[], recvcounts)         \
  PENSTOCK_MATCHED_REDUCTION(reduce_scatter_block, prefix, Reduce_scatter_block, suffix, Count)    \
  PENSTOCK_MATCHED_BLOCKS(allgather, prefix, Allgather, suffix, Count)                             \
  PENSTOCK_MATCHED_BLOCKS(alltoall, prefix, Alltoall, suffix, Count)                               \
  PENSTOCK_MATCHED_BLOCKS(neighbor_alltoall, prefix, Neighbor_alltoall, suffix, Count)             \
  PENSTOCK_ALLGATHER(prefix, Neighbor_allgather, suffix, Count)                                    \
  PENSTOCK_ALLGATHERV(prefix, Allgatherv, suffix, Count, Displacement)                             \
  PENSTOCK_ALLGATHERV(prefix, Neighbor_allgatherv, suffix, Count, Displacement)                    \
  PENSTOCK_MATCHED_ALLTOALLV(alltoallv, prefix, Alltoallv, suffix, Count, Displacement)            \
  PENSTOCK_MATCHED_ALLTOALLV(neighbor_alltoallv, prefix, Neighbor_alltoallv, suffix, Count,        \
                             Displacement)                                                         \
  PENSTOCK_ALLTOALLW(prefix, Alltoallw, suffix, Count, Displacement)                               \
  PENSTOCK_ALLTOALLW(prefix, Neighbor_alltoallw, suffix, Count, MPI_Aint)

#define PENSTOCK_MATCHED_REDUCTION(kind, prefix, verb, suffix, Count)                      \
  PENSTOCK_MATCHED(                                                                        \
      kind, prefix##verb##_init##suffix,                                                   \
      (const void* sendbuf, void* recvbuf, Count count, MPI_Datatype datatype, MPI_Op op), \
      (sendbuf, recvbuf, count, datatype, op),                                             \
      (call.send.buffer = sendbuf, call.receive = {recvbuf, count, datatype}, call.op = op))

#define PENSTOCK_MATCHED_BLOCKS(kind, prefix, verb, suffix, Count)                 \
  PENSTOCK_MATCHED(                                                                \
      kind, prefix##verb##_init##suffix,                                           \
      (const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf, \
       Count recvcount, MPI_Datatype recvtype),                                    \
      (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype),                \
      (call.send = {sendbuf, sendcount, sendtype}, call.receive = {recvbuf, recvcount, recvtype}))

#define PENSTOCK_MATCHED_ALLTOALLV(kind, prefix, verb, suffix, Count, Displacement)               \
  int prefix##verb##_init##suffix(const void* sendbuf, const Count sendcounts[],                  \
                                  const Displacement sdispls[], MPI_Datatype sendtype,            \
                                  void* recvbuf, const Count recvcounts[],                        \
                                  const Displacement rdispls[], MPI_Datatype recvtype,            \
                                  MPI_Comm comm, MPI_Info info, MPI_Request* request) {           \
    const int code =                                                                              \
        P##prefix##verb##_init##suffix(sendbuf, sendcounts, sdispls, sendtype, recvbuf,           \
                                       recvcounts, rdispls, recvtype, comm, info, request);       \
    return recorded_alltoallv(coll::CollectiveKind::kind, #prefix #verb "_init" #suffix, sendbuf, \
                              sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,        \
                              recvtype, comm, info, request, code);                               \
  }

#define PENSTOCK_REDUCTION(prefix, verb, suffix, count_parameter, count_argument)              \
  PENSTOCK_COLLECTIVE(                                                                         \
      prefix##verb##_init##suffix,                                                             \
      (const void* sendbuf, void* recvbuf, count_parameter, MPI_Datatype datatype, MPI_Op op), \
      (sendbuf, recvbuf, count_argument, datatype, op))

#define PENSTOCK_ALLGATHER(prefix, verb, suffix, Count)                                            \
  PENSTOCK_COLLECTIVE(prefix##verb##_init##suffix,                                                 \
                      (const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf, \
                       Count recvcount, MPI_Datatype recvtype),                                    \
                      (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype))

#define PENSTOCK_ALLGATHERV(prefix, verb, suffix, Count, Displacement)                \
  PENSTOCK_COLLECTIVE(                                                                \
      prefix##verb##_init##suffix,                                                    \
      (const void* sendbuf, Count sendcount, MPI_Datatype sendtype, void* recvbuf,    \
       const Count recvcounts[], const Displacement displs[], MPI_Datatype recvtype), \
      (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype))

#define PENSTOCK_ALLTOALLW(prefix, verb, suffix, Count, Displacement)               \
  PENSTOCK_COLLECTIVE(                                                              \
      prefix##verb##_init##suffix,                                                  \
      (const void* sendbuf, const Count sendcounts[], const Displacement sdispls[], \
       const MPI_Datatype sendtypes[], void* recvbuf, const Count recvcounts[],     \
       const Displacement rdispls[], const MPI_Datatype recvtypes[]),               \
      (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes))

#define PENSTOCK_BARRIER(prefix)                                                                \
  int prefix##Barrier_init(MPI_Comm comm, MPI_Info info, MPI_Request* request) {                \
    return recorded(coll::CollectiveKind::barrier, #prefix "Barrier_init", comm, info, request, \
                    P##prefix##Barrier_init(comm, info, request), [](auto&) {});                \
  }

#if PENSTOCK_HAVE_MPI_Bcast_init
PENSTOCK_BARRIER(MPI_)
PENSTOCK_COLLECTIVES(MPI_, , int, int)
#endif

#if PENSTOCK_HAVE_MPI_Bcast_init_c
PENSTOCK_COLLECTIVES(MPI_, _c, MPI_Count, MPI_Aint)
#endif

#if PENSTOCK_HAVE_MPIX_Bcast_init
PENSTOCK_BARRIER(MPIX_)
PENSTOCK_COLLECTIVES(MPIX_, , int, int)
#endif
