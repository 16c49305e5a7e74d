// SPDX-License-Identifier: Apache-2.0
// MPI's return codes as errors. This folder calls PMPI_ only: the MPI_ names are the recorder's.
#pragma once

#include <mpi.h>

#include <string>

#include "base/error.hpp"
#include "group/mpi_check.hpp"

namespace penstock::proxy {

using group::check_mpi;

// Returns the error as a value, for progress, which never throws.
base::Error mpi_error(const std::string& what, int code);

}  // namespace penstock::proxy
