// SPDX-License-Identifier: Apache-2.0
// Checks MPI calls on communicators of ours, whose error handler is MPI_ERRORS_RETURN.
#pragma once

#include <mpi.h>

#include <string>

namespace penstock::group {

std::string mpi_error_text(int code);  // MPI's own, on one line

void throw_mpi_error(int code, const char* call);  // base::Error(mpi) with MPI's own text

inline void check_mpi(int code, const char* call) {
  if (code != MPI_SUCCESS) [[unlikely]]
    throw_mpi_error(code, call);
}

}  // namespace penstock::group
