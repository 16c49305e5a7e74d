// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/nccl_library.hpp"

#include <mpi.h>

#include "support/cuda/library.hpp"

namespace penstock::tool {

const Nccl* load_nccl(std::string& why_not) {
  static Nccl nccl;
  static Library library("libnccl.so.2");
  static const bool complete =
      library.find("ncclGetUniqueId", nccl.get_unique_id) &&
      library.find("ncclCommInitRank", nccl.comm_init_rank) &&
      library.find("ncclGroupStart", nccl.group_start) &&
      library.find("ncclGroupEnd", nccl.group_end) && library.find("ncclSend", nccl.send) &&
      library.find("ncclRecv", nccl.recv) && library.find("ncclAllReduce", nccl.all_reduce) &&
      library.find("ncclReduceScatter", nccl.reduce_scatter) &&
      library.find("ncclAllGather", nccl.all_gather) &&
      library.find("ncclBroadcast", nccl.broadcast) && library.find("ncclReduce", nccl.reduce) &&
      library.find("ncclGetErrorString", nccl.error_string);
  why_not = library.why_not();
  return complete ? &nccl : nullptr;
}

NcclComm nccl_communicator(const Nccl& nccl) {
  static NcclComm comm = nullptr;
  if (comm != nullptr) return comm;
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  NcclId id{};
  if (rank == 0) nccl.check(nccl.get_unique_id(&id));
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  nccl.check(nccl.comm_init_rank(&comm, ranks, id, rank));
  return comm;
}

}  // namespace penstock::tool
