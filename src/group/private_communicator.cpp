// SPDX-License-Identifier: Apache-2.0
#include "group/private_communicator.hpp"

#include "group/mpi_check.hpp"

namespace penstock::group {

PrivateCommunicator::PrivateCommunicator() {
  // Not by MPI_Comm_dup: that would run the program's attribute copy functions.
  MPI_Group group = MPI_GROUP_NULL;
  check_mpi(PMPI_Comm_group(MPI_COMM_WORLD, &group), "MPI_Comm_group");
  const int code = PMPI_Comm_create(MPI_COMM_WORLD, group, &comm_);
  PMPI_Group_free(&group);
  check_mpi(code, "MPI_Comm_create");
  check_mpi(PMPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

PrivateCommunicator::~PrivateCommunicator() {
  int finalized = 0;
  PMPI_Finalized(&finalized);
  if (!finalized && !left_to_mpi_ && comm_ != MPI_COMM_NULL) PMPI_Comm_free(&comm_);
}

}  // namespace penstock::group
