// SPDX-License-Identifier: Apache-2.0
// Identities of MPI communicators. They are kept as an attribute of the communicator, so that they
// go with it: not copied by MPI_Comm_dup, removed by MPI_Comm_free, and never found under a handle
// that MPI has given to another communicator. All functions call MPI (by its PMPI_ names) and are
// called where the program may. Any thread then.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>

#include "group/communicator.hpp"

namespace penstock::group {

// How a communicator came about. Part of the hash: the order of the enumerators must be the same on
// all processes.
enum class Creation : std::uint8_t {
  dup,
  dup_with_info,
  idup,
  idup_with_info,
  create,
  split,
  split_type,
  cart_create,
  cart_sub,
  graph_create,
  dist_graph_create,
  dist_graph_create_adjacent,
  intercomm_merge
};

// Returns false before MPI_Init and after MPI_Finalize, and in a program of sessions only: then
// nothing else here may be called.
bool world_usable() noexcept;

// The identity of a live communicator; one that has none gets one that is unknown. Never null.
// Throws base::Error(mpi).
std::shared_ptr<Communicator> communicator_of(MPI_Comm comm);
MPI_Comm handle_of(const Communicator& communicator) noexcept;

// Rank in MPI_COMM_WORLD of a rank in the communicator (in its remote group, if it has one);
// not_in_world for processes outside.
int world_rank(const Communicator& communicator, int rank);

// How many peers a rank of it has: those of the remote group, where there is one.
int peers_of(const Communicator& communicator);
int last_tag();  // the largest that MPI takes

// What the recorder calls after a creation call has succeeded on this process, in the order of the
// calls on the parent. The child may be MPI_COMM_NULL here: the count rises then, too.
void created(MPI_Comm parent, Creation how, MPI_Comm child);
// MPI_Comm_create_group: only the group's members know of it.
void created_by_group(MPI_Comm parent, int tag, MPI_Comm child);
void created_intercomm(int tag, MPI_Comm child);  // MPI_Intercomm_create
// Is called where no identity follows from what we know.
void created_unknown(MPI_Comm child, const char* call);

// Serves MPI_Comm_idup: takes the number at the call, gives the identity once the child exists.
class PendingChild {
 public:
  PendingChild(MPI_Comm parent, Creation how);
  void complete(MPI_Comm child) const;

 private:
  std::shared_ptr<Communicator> parent_;
  Creation how_;
  std::uint64_t number_;
};

// MPI_Comm_free and MPI_Comm_disconnect use both. The first looks before MPI's call, since
// afterwards the handle is none; it returns null for a communicator without identity and for
// MPI_COMM_NULL. The second follows the call: MPI itself may keep the communicator, and so its
// attributes, until the last request on it has been freed.
std::shared_ptr<Communicator> known_communicator(MPI_Comm comm);
void freed(const std::shared_ptr<Communicator>& communicator) noexcept;

// PST_Comm_attach: collective over the communicator; every member's answer is the same. Throws
// base::Error(communicator).
void attach(MPI_Comm comm);

// Calls the communicator's error handler while the program has not freed it, else that of
// MPI_COMM_WORLD; null: the latter.
void call_errhandler(const Communicator* communicator, int code) noexcept;

}  // namespace penstock::group
