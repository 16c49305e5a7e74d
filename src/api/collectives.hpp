// SPDX-License-Identifier: Apache-2.0
// Persistent collectives as the calls that make them have them: recorded with all that their match
// needs.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>

#include "coll/algorithms.hpp"
#include "core/collective.hpp"

namespace penstock::api {

// One side's data: `count` elements; of a collective that gives each rank, or neighbour, a block,
// in one of them.
struct CollectiveData {
  const void* buffer = nullptr;
  MPI_Count count = 0;
  MPI_Datatype type = MPI_BYTE;
};

// One side of an alltoallv: a block for each rank or neighbour, displacements in elements. The
// arrays are those of the call, and may be null.
struct CollectiveBlocks {
  const void* buffer = nullptr;
  const MPI_Count* counts = nullptr;
  const MPI_Aint* displacements = nullptr;
  std::size_t number = 0;
  MPI_Datatype type = MPI_BYTE;
};

// What a call has been given, as far as its kind has that.
struct CollectiveArguments {
  coll::CollectiveKind kind{};
  const char* call = "";  // "MPI_Allreduce_init"
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Info info = MPI_INFO_NULL;
  CollectiveData send, receive;
  CollectiveBlocks sends, receives;
  MPI_Op op = MPI_OP_NULL;
  int root = 0;
  MPI_Comm team = MPI_COMM_NULL;
};

// How many blocks an alltoallv sends and receives: one for each rank or neighbour. Throws
// base::Error(mpi).
struct BlockCounts {
  std::size_t sends = 0, receives = 0;
};
BlockCounts block_counts(coll::CollectiveKind kind, MPI_Comm comm);

// Keeps what is needed at the match of the request that MPI has made. What cannot be served is an
// error of the match, on all members.
void record_collective(const CollectiveArguments& arguments, MPI_Request request);

// A call that has no place for a request takes its number all the same: the next collective of the
// communicator is the others' next one, too. Throws base::Error(mpi).
void skip_collective_number(MPI_Comm comm);

}  // namespace penstock::api
