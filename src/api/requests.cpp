// SPDX-License-Identifier: Apache-2.0
// The explicit forms of what the recorder does. MPI reports its own errors; ours come on top of
// them.
#include "api/errors.hpp"
#include "api/recorder.hpp"
#include "core/library.hpp"
#include "penstock/penstock.h"

using namespace penstock;
using core::RequestKind;

namespace {

bool ended_before_mpi() {
  int mpi_has_ended = 0;
  PMPI_Finalized(&mpi_has_ended);
  return core::Library::finalised() && mpi_has_ended == 0;
}

// The error is ours, or that of MPI's call in `body`.
template <class Body>
int with_mpi(Body&& body) {
  int mpi = MPI_SUCCESS;
  const int ours = api::guard([&] { mpi = body(); });
  if (ours != MPI_SUCCESS) return ours;
  if (mpi != MPI_SUCCESS) api::note_mpi_error(mpi);
  return mpi;
}

template <class Init, class... Arguments>
int create_request(Init init, Arguments... arguments) {
  return with_mpi([&] {
    core::Library::require();
    return init(arguments...);
  });
}

}  // namespace

int PST_Send_init(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request* request) {
  return create_request(api::init_send, RequestKind::send, "PST_Send_init", PMPI_Send_init, buf,
                        count, datatype, dest, tag, comm, request);
}

int PST_Ssend_init(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                   MPI_Comm comm, MPI_Request* request) {
  return create_request(api::init_send, RequestKind::synchronous_send, "PST_Ssend_init",
                        PMPI_Ssend_init, buf, count, datatype, dest, tag, comm, request);
}

int PST_Rsend_init(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                   MPI_Comm comm, MPI_Request* request) {
  return create_request(api::init_send, RequestKind::ready_send, "PST_Rsend_init", PMPI_Rsend_init,
                        buf, count, datatype, dest, tag, comm, request);
}

int PST_Bsend_init(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                   MPI_Comm comm, MPI_Request* request) {
  return create_request(api::init_send, RequestKind::buffered_send, "PST_Bsend_init",
                        PMPI_Bsend_init, buf, count, datatype, dest, tag, comm, request);
}

int PST_Recv_init(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                  MPI_Request* request) {
  return create_request(api::init_receive, "PST_Recv_init", buf, count, datatype, source, tag, comm,
                        request);
}

int PST_Request_free(MPI_Request* request) {
  return with_mpi([&] {
    core::Library::refuse_in_child();
    if (!ended_before_mpi()) core::Library::require();
    api::require_pointer(request, "request");
    return api::free_request(request);
  });
}
