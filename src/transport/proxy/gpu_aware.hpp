// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace penstock::transport::proxy {

// What the MPI library says of itself (MPIX_Query_cuda_support). False where it has no such function.
bool mpi_takes_cuda_memory() noexcept;

}  // namespace penstock::transport::proxy
