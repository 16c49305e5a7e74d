// SPDX-License-Identifier: Apache-2.0
#include "group/mpi_check.hpp"

#include "base/error.hpp"

namespace penstock::group {

std::string mpi_error_text(int code, const char* call) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (PMPI_Error_string(code, text, &length) != MPI_SUCCESS) length = 0;
  return std::string(call) + " failed: " +
         (length > 0 ? std::string(text, static_cast<std::size_t>(length)) : "MPI error code " + std::to_string(code));
}

void throw_mpi_error(int code, const char* call) {
  throw base::Error(base::ErrorKind::mpi, mpi_error_text(code, call));
}

}  // namespace penstock::group
