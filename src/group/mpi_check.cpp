// SPDX-License-Identifier: Apache-2.0
#include "group/mpi_check.hpp"

#include <algorithm>
#include <string>

#include "base/error.hpp"

namespace penstock::group {

std::string mpi_error_text(int code) {
  char text[MPI_MAX_ERROR_STRING + 1] = "";
  int length = 0;
  if (PMPI_Error_string(code, text, &length) != MPI_SUCCESS || length == 0)
    return "MPI error code " + std::to_string(code);
  std::string line(text, static_cast<std::size_t>(length));
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

void throw_mpi_error(int code, const char* call) {
  throw base::Error(base::ErrorKind::mpi, std::string(call) + " failed: " + mpi_error_text(code));
}

}  // namespace penstock::group
