// SPDX-License-Identifier: Apache-2.0
// What elements an MPI datatype is made of.
#pragma once

#include <mpi.h>

#include "datatype/signature.hpp"
#include "group/datatype_contents.hpp"
#include "group/datatype_shape.hpp"

namespace penstock::group {

// Calls MPI. Throws base::Error(mpi).
datatype::Signature signature_of_predefined(MPI_Datatype datatype);
// `size`: of the datatype.
datatype::Signature signature_of_derived(const DatatypeContents& contents, MPI_Count size,
                                         ShapeParts parts);

}  // namespace penstock::group
