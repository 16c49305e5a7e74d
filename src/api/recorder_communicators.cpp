// SPDX-License-Identifier: Apache-2.0
// Calls that create and free communicators: each new one gets its identity, or the reason why it
// has none.
#include <memory>
#include <utility>

#include "api/enqueued.hpp"
#include "api/errors.hpp"
#include "api/recorder_idup.hpp"
#include "api/recording_guard.hpp"
#include "penstock_recorder_config.h"

namespace {

namespace group = penstock::group;
using group::Creation;
using penstock::api::idup_begun;
using penstock::api::recording;

template <class Identify>
int identified(const char* call, int code, Identify&& identify) {
  if (code == MPI_SUCCESS)
    recording(call, "the new communicator stays unknown", std::forward<Identify>(identify));
  return code;
}

// The code of MPI's call comes last, so that the call is over when the child is looked at.
int child(const char* call, Creation how, MPI_Comm parent, const MPI_Comm* made, int code) {
  return identified(call, code, [&] { group::created(parent, how, *made); });
}

int unknown(const char* call, const MPI_Comm* made, int code) {
  return identified(call, code, [&] { group::created_unknown(*made, call); });
}

bool concerns_us(const group::Communicator& communicator) noexcept {
  return communicator.enqueued.load(std::memory_order_acquire) > 0 ||
         communicator.left_to_mpi.load(std::memory_order_acquire) ||
         communicator.promise.load(std::memory_order_acquire) != nullptr;
}

// Open MPI goes on with a barrier whose communicator it has freed.
void require_freeable(const char* call, const group::Communicator& communicator) {
  using penstock::base::Error;
  using penstock::base::ErrorKind;
  const bool promised = communicator.promise.load(std::memory_order_acquire) != nullptr;
  if (!penstock::api::catch_up_with_enqueued() && promised)
    throw Error(ErrorKind::in_use,
                communicator.name +
                    " has promised messages, and the stream of a queue that has failed still runs: "
                    "synchronize it before " +
                    call);
  if (communicator.enqueued.load(std::memory_order_acquire) > 0)
    throw Error(ErrorKind::in_use,
                communicator.name +
                    " has enqueued messages that are not triggered, or (after "
                    "PST_Comm_enqueue_only) not received yet: see to both, and call "
                    "PST_Queue_wait, before " +
                    call);
  if (communicator.left_to_mpi.load(std::memory_order_acquire))
    throw Error(ErrorKind::in_use,
                std::string(call) + " of " + communicator.name +
                    ", where PST_Comm_enqueue_only has given up, and MPI still has its barrier: "
                    "leave the communicator as it is");
}

// Marks the communicator as gone once `free` has succeeded: MPI may keep its attributes longer.
template <class Free>
int freeing(const char* call, MPI_Comm* comm, Free&& free) {
  std::shared_ptr<group::Communicator> communicator;
  if (comm != nullptr)
    recording(call, "the communicator is freed all the same",
              [&] { communicator = group::known_communicator(*comm); });
  if (communicator && concerns_us(*communicator))
    if (const int code = penstock::api::guard([&] {
          require_freeable(call, *communicator);
          penstock::api::end_promise(*communicator);
        });
        code != MPI_SUCCESS)
      return code;
  const int code = free(comm);
  if (code == MPI_SUCCESS) group::freed(communicator);
  return code;
}

}  // namespace

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* newcomm) {
  return child("MPI_Comm_dup", Creation::dup, comm, newcomm, PMPI_Comm_dup(comm, newcomm));
}

int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm) {
  return child("MPI_Comm_dup_with_info", Creation::dup_with_info, comm, newcomm,
               PMPI_Comm_dup_with_info(comm, info, newcomm));
}

int MPI_Comm_idup(MPI_Comm comm, MPI_Comm* newcomm, MPI_Request* request) {
  const int code = PMPI_Comm_idup(comm, newcomm, request);
  if (code == MPI_SUCCESS) idup_begun(comm, Creation::idup, newcomm, *request);
  return code;
}

#if PENSTOCK_HAVE_MPI_Comm_idup_with_info
int MPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm, MPI_Request* request) {
  const int code = PMPI_Comm_idup_with_info(comm, info, newcomm, request);
  if (code == MPI_SUCCESS) idup_begun(comm, Creation::idup_with_info, newcomm, *request);
  return code;
}
#endif

int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* newcomm) {
  return child("MPI_Comm_create", Creation::create, comm, newcomm,
               PMPI_Comm_create(comm, group, newcomm));
}

int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* newcomm) {
  return identified("MPI_Comm_create_group", PMPI_Comm_create_group(comm, group, tag, newcomm),
                    [&] { group::created_by_group(comm, tag, *newcomm); });
}

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* newcomm) {
  return child("MPI_Comm_split", Creation::split, comm, newcomm,
               PMPI_Comm_split(comm, color, key, newcomm));
}

int MPI_Comm_split_type(MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm* newcomm) {
  return child("MPI_Comm_split_type", Creation::split_type, comm, newcomm,
               PMPI_Comm_split_type(comm, split_type, key, info, newcomm));
}

int MPI_Cart_create(MPI_Comm comm, int ndims, const int dims[], const int periods[], int reorder,
                    MPI_Comm* newcomm) {
  return child("MPI_Cart_create", Creation::cart_create, comm, newcomm,
               PMPI_Cart_create(comm, ndims, dims, periods, reorder, newcomm));
}

int MPI_Cart_sub(MPI_Comm comm, const int remain_dims[], MPI_Comm* newcomm) {
  return child("MPI_Cart_sub", Creation::cart_sub, comm, newcomm,
               PMPI_Cart_sub(comm, remain_dims, newcomm));
}

int MPI_Graph_create(MPI_Comm comm, int nnodes, const int index[], const int edges[], int reorder,
                     MPI_Comm* newcomm) {
  return child("MPI_Graph_create", Creation::graph_create, comm, newcomm,
               PMPI_Graph_create(comm, nnodes, index, edges, reorder, newcomm));
}

int MPI_Dist_graph_create(MPI_Comm comm, int n, const int sources[], const int degrees[],
                          const int destinations[], const int weights[], MPI_Info info, int reorder,
                          MPI_Comm* newcomm) {
  return child("MPI_Dist_graph_create", Creation::dist_graph_create, comm, newcomm,
               PMPI_Dist_graph_create(comm, n, sources, degrees, destinations, weights, info,
                                      reorder, newcomm));
}

int MPI_Dist_graph_create_adjacent(MPI_Comm comm, int indegree, const int sources[],
                                   const int sourceweights[], int outdegree,
                                   const int destinations[], const int destweights[], MPI_Info info,
                                   int reorder, MPI_Comm* newcomm) {
  return child("MPI_Dist_graph_create_adjacent", Creation::dist_graph_create_adjacent, comm,
               newcomm,
               PMPI_Dist_graph_create_adjacent(comm, indegree, sources, sourceweights, outdegree,
                                               destinations, destweights, info, reorder, newcomm));
}

int MPI_Intercomm_create(MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm,
                         int remote_leader, int tag, MPI_Comm* newintercomm) {
  return identified(
      "MPI_Intercomm_create",
      PMPI_Intercomm_create(local_comm, local_leader, peer_comm, remote_leader, tag, newintercomm),
      [&] { group::created_intercomm(tag, *newintercomm); });
}

int MPI_Intercomm_merge(MPI_Comm intercomm, int high, MPI_Comm* newintracomm) {
  return child("MPI_Intercomm_merge", Creation::intercomm_merge, intercomm, newintracomm,
               PMPI_Intercomm_merge(intercomm, high, newintracomm));
}

int MPI_Comm_free(MPI_Comm* comm) {
  return freeing("MPI_Comm_free", comm, PMPI_Comm_free);
}

int MPI_Comm_disconnect(MPI_Comm* comm) {
  return freeing("MPI_Comm_disconnect", comm, PMPI_Comm_disconnect);
}

int MPI_Comm_spawn(const char* command, char* argv[], int maxprocs, MPI_Info info, int root,
                   MPI_Comm comm, MPI_Comm* intercomm, int errcodes[]) {
  return unknown("MPI_Comm_spawn", intercomm,
                 PMPI_Comm_spawn(command, argv, maxprocs, info, root, comm, intercomm, errcodes));
}

int MPI_Comm_spawn_multiple(int count, char* commands[], char** argvs[], const int maxprocs[],
                            const MPI_Info infos[], int root, MPI_Comm comm, MPI_Comm* intercomm,
                            int errcodes[]) {
  return unknown("MPI_Comm_spawn_multiple", intercomm,
                 PMPI_Comm_spawn_multiple(count, commands, argvs, maxprocs, infos, root, comm,
                                          intercomm, errcodes));
}

int MPI_Comm_connect(const char* port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* newcomm) {
  return unknown("MPI_Comm_connect", newcomm, PMPI_Comm_connect(port, info, root, comm, newcomm));
}

int MPI_Comm_accept(const char* port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* newcomm) {
  return unknown("MPI_Comm_accept", newcomm, PMPI_Comm_accept(port, info, root, comm, newcomm));
}

int MPI_Comm_join(int fd, MPI_Comm* intercomm) {
  return unknown("MPI_Comm_join", intercomm, PMPI_Comm_join(fd, intercomm));
}

int MPI_Comm_get_parent(MPI_Comm* parent) {
  return unknown("MPI_Comm_spawn (it is the parent's)", parent, PMPI_Comm_get_parent(parent));
}

#if PENSTOCK_HAVE_MPI_Comm_create_from_group
int MPI_Comm_create_from_group(MPI_Group group, const char* stringtag, MPI_Info info,
                               MPI_Errhandler errhandler, MPI_Comm* newcomm) {
  return unknown("MPI_Comm_create_from_group", newcomm,
                 PMPI_Comm_create_from_group(group, stringtag, info, errhandler, newcomm));
}
#endif

#if PENSTOCK_HAVE_MPI_Intercomm_create_from_groups
int MPI_Intercomm_create_from_groups(MPI_Group local_group, int local_leader,
                                     MPI_Group remote_group, int remote_leader,
                                     const char* stringtag, MPI_Info info,
                                     MPI_Errhandler errhandler, MPI_Comm* newintercomm) {
  return unknown(
      "MPI_Intercomm_create_from_groups", newintercomm,
      PMPI_Intercomm_create_from_groups(local_group, local_leader, remote_group, remote_leader,
                                        stringtag, info, errhandler, newintercomm));
}
#endif
