// SPDX-License-Identifier: Apache-2.0
// What elements an MPI datatype is made of.
#pragma once

#include <mpi.h>

#include "datatype/signature.hpp"

namespace penstock::group {

// Calls MPI. Throws base::Error(mpi).
datatype::Signature signature_of(MPI_Datatype datatype);

}  // namespace penstock::group
