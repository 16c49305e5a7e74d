// SPDX-License-Identifier: Apache-2.0
// MPI's partitioned requests as ends of channels: a partition is a unit, or several.
#pragma once

#include <mpi.h>

namespace penstock::api {

struct PartitionedArguments {
  void* buffer;
  int partitions;
  MPI_Count count;  // of each
  MPI_Datatype datatype;
  int peer;
  int tag;
  MPI_Comm comm;
  MPI_Info info;
};

// Keeps a request that MPI has made. Throws base::Error where not even the reason why it can be no
// channel can be kept.
void record_partitioned(bool sends, const char* call, const PartitionedArguments& arguments,
                        MPI_Request request);

}  // namespace penstock::api
