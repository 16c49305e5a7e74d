// SPDX-License-Identifier: Apache-2.0
#include "transport/proxy/mpi_call.hpp"

namespace penstock::transport::proxy {

base::Error mpi_error(const std::string& what, int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (PMPI_Error_string(code, text, &length) != MPI_SUCCESS) length = 0;
  std::string line(text, static_cast<std::size_t>(length));
  for (char& character : line)
    if (character == '\n') character = ' ';
  return base::Error(base::ErrorKind::mpi, what + ": " + (line.empty() ? std::to_string(code) : line));
}

}  // namespace penstock::transport::proxy
