// SPDX-License-Identifier: Apache-2.0
// MPI's partitioned requests, which are ends of channels for the match. Those that can be none are
// recorded with the reason, which both ends are told at the match.
#include "api/partitioned.hpp"
#include "api/recording_guard.hpp"
#include "penstock_recorder_config.h"

#if PENSTOCK_HAVE_MPI_Psend_init
namespace {

int recorded(bool sends, const char* call, const penstock::api::PartitionedArguments& arguments,
             const MPI_Request* request, int code) {
  if (code != MPI_SUCCESS) return code;
  const bool kept = penstock::api::recording(
      call, "the request is not recorded and cannot be matched",
      [&] { penstock::api::record_partitioned(sends, call, arguments, *request); });
  if (!kept) penstock::api::forget(*request);
  return code;
}

}  // namespace

int MPI_Psend_init(const void* buf, int partitions, MPI_Count count, MPI_Datatype datatype,
                   int dest, int tag, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return recorded(
      true, "MPI_Psend_init",
      {const_cast<void*>(buf), partitions, count, datatype, dest, tag, comm, info}, request,
      PMPI_Psend_init(buf, partitions, count, datatype, dest, tag, comm, info, request));
}

int MPI_Precv_init(void* buf, int partitions, MPI_Count count, MPI_Datatype datatype, int source,
                   int tag, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return recorded(
      false, "MPI_Precv_init", {buf, partitions, count, datatype, source, tag, comm, info}, request,
      PMPI_Precv_init(buf, partitions, count, datatype, source, tag, comm, info, request));
}
#endif
