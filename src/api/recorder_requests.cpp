// SPDX-License-Identifier: Apache-2.0
// Persistent messages: created by MPI, kept in the registry with all that may be freed before they
// are matched.
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "api/errors.hpp"
#include "api/overlap.hpp"
#include "api/recorder.hpp"
#include "api/recording_guard.hpp"
#include "base/error.hpp"
#include "base/forked.hpp"
#include "core/library.hpp"
#include "core/matched_request.hpp"
#include "core/registry.hpp"
#include "group/mpi_communicator.hpp"
#include "group/mpi_handle.hpp"
#include "group/mpi_layout.hpp"
#include "penstock_recorder_config.h"

namespace penstock::api {

using core::RequestKind;

namespace {

int rank_to_record(int rank) noexcept {
  if (rank == MPI_PROC_NULL) return core::null_rank;
  return rank == MPI_ANY_SOURCE ? core::any_rank : rank;
}

struct Arguments {
  void* buffer;
  MPI_Count count;
  MPI_Datatype datatype;
  int peer;
  int tag;
  MPI_Comm comm;
};

// Where it fails both ends are told at the match.
void describe_layout(core::Recording& recording, const Arguments& arguments) {
  try {
    auto layout = std::make_shared<group::MpiLayout>(arguments.datatype, arguments.count);
    // Of integers, as MPI_BOTTOM may be null.
    recording.buffer = reinterpret_cast<void*>(reinterpret_cast<std::intptr_t>(arguments.buffer) +
                                               layout->lowest());
    recording.bytes = layout->bytes();
    recording.refusal = layout->refusal();
    recording.layout = std::move(layout);
  } catch (const std::bad_alloc&) {
    recording.refusal = group::no_memory_text;
  } catch (const base::Error& error) {
    recording.refusal = std::string(error.text()) + ": was its datatype freed before the call?";
  }
}

core::Recording describe(RequestKind kind, const char* call, const Arguments& arguments) {
  core::Recording recording;
  recording.kind = kind;
  recording.call = call;
  describe_layout(recording, arguments);
  recording.communicator = group::communicator_of(arguments.comm);
  recording.peer = rank_to_record(arguments.peer);
  recording.peer_world = recording.peer < 0
                             ? recording.peer
                             : group::world_rank(*recording.communicator, recording.peer);
  recording.tag = arguments.tag == MPI_ANY_TAG ? core::any_tag : arguments.tag;
  return recording;
}

template <class Function, class Buffer, class Count>
int init(RequestKind kind, const char* call, Function pmpi, Buffer* buffer, Count count,
         MPI_Datatype datatype, int peer, int tag, MPI_Comm comm, MPI_Request* request) {
  const int code = pmpi(buffer, count, datatype, peer, tag, comm, request);
  if (code != MPI_SUCCESS) {
    note_mpi_error(code);  // programs ask PST_Last_error about all calls of the library's requests
    return code;
  }
  const bool recorded = recording(call, "the request is not recorded and cannot be matched", [&] {
    const Arguments arguments{
        const_cast<void*>(static_cast<const void*>(buffer)), count, datatype, peer, tag, comm};
    core::Registry::get().record(group::handle_bits(*request), describe(kind, call, arguments));
  });
  if (!recorded) forget(*request);
  return code;
}

}  // namespace

int init_send(RequestKind kind, const char* call, decltype(PMPI_Send_init)* pmpi,
              const void* buffer, int count, MPI_Datatype datatype, int destination, int tag,
              MPI_Comm comm, MPI_Request* request) {
  return init(kind, call, pmpi, buffer, count, datatype, destination, tag, comm, request);
}

int init_receive(const char* call, void* buffer, int count, MPI_Datatype datatype, int source,
                 int tag, MPI_Comm comm, MPI_Request* request) {
  return init(RequestKind::receive, call, PMPI_Recv_init, buffer, count, datatype, source, tag,
              comm, request);
}

int free_request(MPI_Request* request) {
  if (base::forked()) return PMPI_Request_free(request);  // the half of the pair is the parent's
  if (request != nullptr && *request != MPI_REQUEST_NULL)
    core::free_request(group::handle_bits(*request));
  if (active_persistent.load(std::memory_order_relaxed) != 0 && request != nullptr)
    free_persistent(*request);
  group::MpiLayout::free_unused();
  return PMPI_Request_free(request);
}

void forget(MPI_Request request) {
  if (base::forked()) return;
  core::Registry::get().discard(group::handle_bits(request));
}

void record_unmatchable(RequestKind kind, const char* call, MPI_Comm comm, MPI_Request request) {
  const bool recorded = recording(call, "the request is not recorded", [&] {
    core::Recording entry;
    entry.kind = kind;
    entry.call = call;
    entry.communicator = group::communicator_of(comm);
    core::Registry::get().record(group::handle_bits(request), std::move(entry));
  });
  if (!recorded) forget(request);
}

}  // namespace penstock::api

using penstock::api::init;
using penstock::core::RequestKind;

int MPI_Send_init(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                  MPI_Comm comm, MPI_Request* request) {
  return init(RequestKind::send, "MPI_Send_init", PMPI_Send_init, buf, count, datatype, dest, tag,
              comm, request);
}

int MPI_Ssend_init(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                   MPI_Comm comm, MPI_Request* request) {
  return init(RequestKind::synchronous_send, "MPI_Ssend_init", PMPI_Ssend_init, buf, count,
              datatype, dest, tag, comm, request);
}

int MPI_Rsend_init(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                   MPI_Comm comm, MPI_Request* request) {
  return init(RequestKind::ready_send, "MPI_Rsend_init", PMPI_Rsend_init, buf, count, datatype,
              dest, tag, comm, request);
}

int MPI_Bsend_init(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                   MPI_Comm comm, MPI_Request* request) {
  return init(RequestKind::buffered_send, "MPI_Bsend_init", PMPI_Bsend_init, buf, count, datatype,
              dest, tag, comm, request);
}

int MPI_Recv_init(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                  MPI_Request* request) {
  return init(RequestKind::receive, "MPI_Recv_init", PMPI_Recv_init, buf, count, datatype, source,
              tag, comm, request);
}

#if PENSTOCK_HAVE_MPI_Send_init_c
int MPI_Send_init_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                    MPI_Comm comm, MPI_Request* request) {
  return init(RequestKind::send, "MPI_Send_init_c", PMPI_Send_init_c, buf, count, datatype, dest,
              tag, comm, request);
}

int MPI_Ssend_init_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                     MPI_Comm comm, MPI_Request* request) {
  return init(RequestKind::synchronous_send, "MPI_Ssend_init_c", PMPI_Ssend_init_c, buf, count,
              datatype, dest, tag, comm, request);
}

int MPI_Rsend_init_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                     MPI_Comm comm, MPI_Request* request) {
  return init(RequestKind::ready_send, "MPI_Rsend_init_c", PMPI_Rsend_init_c, buf, count, datatype,
              dest, tag, comm, request);
}

int MPI_Bsend_init_c(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
                     MPI_Comm comm, MPI_Request* request) {
  return init(RequestKind::buffered_send, "MPI_Bsend_init_c", PMPI_Bsend_init_c, buf, count,
              datatype, dest, tag, comm, request);
}

int MPI_Recv_init_c(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                    MPI_Comm comm, MPI_Request* request) {
  return init(RequestKind::receive, "MPI_Recv_init_c", PMPI_Recv_init_c, buf, count, datatype,
              source, tag, comm, request);
}
#endif

int MPI_Request_free(MPI_Request* request) {
  int mpi = MPI_SUCCESS;
  const int ours = penstock::api::guard([&] { mpi = penstock::api::free_request(request); });
  return ours != MPI_SUCCESS ? ours : mpi;
}
