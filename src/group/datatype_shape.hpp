// SPDX-License-Identifier: Apache-2.0
// What of an MPI datatype decides whether its data is one run of bytes.
#pragma once

#include <mpi.h>

namespace penstock::group {

struct DatatypeShape {
  MPI_Count size = 0;
  MPI_Count extent = 0;
  MPI_Count true_lower_bound = 0;
  bool predefined = false;
  // One element is `size` bytes without gap, in the order in which MPI would send them. Size and
  // true extent alone do not tell: blocks may be permuted, or overlap in one place and leave a gap
  // in another.
  bool solid = false;
};

DatatypeShape shape_of(MPI_Datatype datatype);  // throws base::Error(mpi)

}  // namespace penstock::group
