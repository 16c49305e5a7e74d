// SPDX-License-Identifier: Apache-2.0
#include "proxy/mpi_call.hpp"

namespace penstock::proxy {

base::Error mpi_error(const std::string& what, int code) {
  return base::Error(base::ErrorKind::mpi, what + ": " + group::mpi_error_text(code));
}

}  // namespace penstock::proxy
