// SPDX-License-Identifier: Apache-2.0
#include "api/channels.hpp"

#include <utility>

#include "core/registry.hpp"
#include "group/mpi_check.hpp"
#include "group/mpi_communicator.hpp"
#include "group/mpi_handle.hpp"

namespace penstock::api {

void require_valid(bool sends, const ChannelArguments& of, const char* call) {
  MPI_Request request = MPI_REQUEST_NULL;
  group::check_mpi(
      sends ? PMPI_Send_init(nullptr, 0, of.datatype, of.peer, of.tag, of.comm, &request)
            : PMPI_Recv_init(nullptr, 0, of.datatype, of.peer, of.tag, of.comm, &request),
      call);
  PMPI_Request_free(&request);
}

void describe_peer(core::Recording& recording, const ChannelArguments& arguments) {
  recording.communicator = group::communicator_of(arguments.comm);
  recording.peer = arguments.peer == MPI_PROC_NULL    ? core::null_rank
                   : arguments.peer == MPI_ANY_SOURCE ? core::any_rank
                                                      : arguments.peer;
  recording.peer_world = recording.peer < 0
                             ? recording.peer
                             : group::world_rank(*recording.communicator, recording.peer);
  recording.tag = arguments.tag == MPI_ANY_TAG ? core::any_tag : arguments.tag;
}

MPI_Request record_new(const char* call, MPI_Comm comm, core::Recording recording) {
  MPI_Request made = MPI_REQUEST_NULL;
  group::check_mpi(PMPI_Recv_init(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, comm, &made), call);
  try {
    core::Registry::get().record(group::handle_bits(made), std::move(recording));
  } catch (...) {
    PMPI_Request_free(&made);
    throw;
  }
  return made;
}

}  // namespace penstock::api
