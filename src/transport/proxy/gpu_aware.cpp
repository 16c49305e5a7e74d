// SPDX-License-Identifier: Apache-2.0
#include "transport/proxy/gpu_aware.hpp"

#include <dlfcn.h>

namespace penstock::transport::proxy {

// Looked up at run time: not every MPI has it, and one that has may have been built either way.
bool mpi_takes_cuda_memory() noexcept {
  const auto query = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support"));
  return query != nullptr && query() == 1;
}

}  // namespace penstock::transport::proxy
