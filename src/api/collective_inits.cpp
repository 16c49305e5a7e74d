// SPDX-License-Identifier: Apache-2.0
// Collectives of the library's own names, which any MPI has. Their requests are persistent receives
// from nobody, which MPI's calls may start and wait for.
#include "api/collectives.hpp"
#include "api/errors.hpp"
#include "core/library.hpp"
#include "group/mpi_check.hpp"
#include "penstock/penstock.h"

using namespace penstock;
using coll::CollectiveKind;

namespace {

template <class Fill>
int init(CollectiveKind kind, const char* call, MPI_Comm comm, MPI_Info info, MPI_Request* request,
         Fill&& fill) {
  return api::guard([&](core::Library&) {
    if (request == nullptr) api::skip_collective_number(comm);
    api::require_pointer(request, "request");
    api::CollectiveArguments arguments;
    arguments.kind = kind;
    arguments.call = call;
    arguments.comm = comm;
    arguments.info = info;
    fill(arguments);
    MPI_Request made = MPI_REQUEST_NULL;
    group::check_mpi(PMPI_Recv_init(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, comm, &made), call);
    try {
      api::record_collective(arguments, made);
    } catch (...) {
      PMPI_Request_free(&made);
      throw;
    }
    *request = made;
  });
}

// Both sides of an alltoallv.
struct Sides {
  const void* sendbuf;
  const MPI_Count* sendcounts;
  const MPI_Aint* sdispls;
  MPI_Datatype sendtype;
  const void* recvbuf;
  const MPI_Count* recvcounts;
  const MPI_Aint* rdispls;
  MPI_Datatype recvtype;
};

int init_alltoallv(CollectiveKind kind, const char* name, const Sides& sides, MPI_Comm comm,
                   MPI_Info info, MPI_Request* request) {
  return init(kind, name, comm, info, request, [&](api::CollectiveArguments& call) {
    const auto [sends, receives] = api::block_counts(kind, comm);
    call.sends = {sides.sendbuf, sides.sendcounts, sides.sdispls, sends, sides.sendtype};
    call.receives = {sides.recvbuf, sides.recvcounts, sides.rdispls, receives, sides.recvtype};
  });
}

}  // namespace

int PST_Barrier_init(MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return init(CollectiveKind::barrier, "PST_Barrier_init", comm, info, request, [](auto&) {});
}

int PST_Bcast_init(void* buf, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm,
                   MPI_Info info, MPI_Request* request) {
  return init(CollectiveKind::bcast, "PST_Bcast_init", comm, info, request,
              [&](api::CollectiveArguments& call) {
                call.receive = {buf, count, datatype};
                call.root = root;
              });
}

int PST_Reduce_init(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                    MPI_Op op, int root, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return init(CollectiveKind::reduce, "PST_Reduce_init", comm, info, request,
              [&](api::CollectiveArguments& call) {
                call.send.buffer = sendbuf;
                call.receive = {recvbuf, count, datatype};
                call.op = op;
                call.root = root;
              });
}

int PST_Allgather_init(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                       void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                       MPI_Info info, MPI_Request* request) {
  return init(CollectiveKind::allgather, "PST_Allgather_init", comm, info, request,
              [&](api::CollectiveArguments& call) {
                call.send = {sendbuf, sendcount, sendtype};
                call.receive = {recvbuf, recvcount, recvtype};
              });
}

int PST_Alltoall_init(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                      void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm,
                      MPI_Info info, MPI_Request* request) {
  return init(CollectiveKind::alltoall, "PST_Alltoall_init", comm, info, request,
              [&](api::CollectiveArguments& call) {
                call.send = {sendbuf, sendcount, sendtype};
                call.receive = {recvbuf, recvcount, recvtype};
              });
}

int PST_Alltoallv_init(const void* sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                       MPI_Datatype sendtype, void* recvbuf, const MPI_Count recvcounts[],
                       const MPI_Aint rdispls[], MPI_Datatype recvtype, MPI_Comm comm,
                       MPI_Info info, MPI_Request* request) {
  return init_alltoallv(
      CollectiveKind::alltoallv, "PST_Alltoallv_init",
      {sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype}, comm, info,
      request);
}

int PST_Neighbor_alltoall_init(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
                               void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
                               MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return init(CollectiveKind::neighbor_alltoall, "PST_Neighbor_alltoall_init", comm, info, request,
              [&](api::CollectiveArguments& call) {
                call.send = {sendbuf, sendcount, sendtype};
                call.receive = {recvbuf, recvcount, recvtype};
              });
}

int PST_Neighbor_alltoallv_init(const void* sendbuf, const MPI_Count sendcounts[],
                                const MPI_Aint sdispls[], MPI_Datatype sendtype, void* recvbuf,
                                const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                                MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                MPI_Request* request) {
  return init_alltoallv(
      CollectiveKind::neighbor_alltoallv, "PST_Neighbor_alltoallv_init",
      {sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype}, comm, info,
      request);
}

int PST_Allreduce_init(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype datatype,
                       MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return init(CollectiveKind::allreduce, "PST_Allreduce_init", comm, info, request,
              [&](api::CollectiveArguments& call) {
                call.send.buffer = sendbuf;
                call.receive = {recvbuf, count, datatype};
                call.op = op;
              });
}

int PST_Reduce_scatter_block_init(const void* sendbuf, void* recvbuf, MPI_Count recvcount,
                                  MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info,
                                  MPI_Request* request) {
  return init(CollectiveKind::reduce_scatter_block, "PST_Reduce_scatter_block_init", comm, info,
              request, [&](api::CollectiveArguments& call) {
                call.send.buffer = sendbuf;
                call.receive = {recvbuf, recvcount, datatype};
                call.op = op;
              });
}

int PST_Team_allreduce_init(const void* sendbuf, void* recvbuf, MPI_Count count,
                            MPI_Datatype datatype, MPI_Op op, MPI_Comm team, MPI_Comm comm,
                            MPI_Info info, MPI_Request* request) {
  return init(CollectiveKind::team_allreduce, "PST_Team_allreduce_init", comm, info, request,
              [&](api::CollectiveArguments& call) {
                call.send.buffer = sendbuf;
                call.receive = {recvbuf, count, datatype};
                call.op = op;
                call.team = team;
              });
}
