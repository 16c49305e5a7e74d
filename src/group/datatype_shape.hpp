// SPDX-License-Identifier: Apache-2.0
// Flattens an MPI datatype: which bytes of a buffer it takes, in the order in which MPI sends them.
#pragma once

#include <mpi.h>

#include <memory>

#include "datatype/segments.hpp"

namespace penstock::group {

struct DatatypeShape {
  MPI_Count size = 0;
  MPI_Count extent = 0;
  bool predefined = false;
  // Of one element. Null: it takes too many segments, is made by a call that we do not know, or of
  // a predefined datatype with gaps.
  std::shared_ptr<const datatype::Segments> segments;
};

// Throws base::Error(mpi), and base::Error(argument) where it reaches too far.
DatatypeShape shape_of(MPI_Datatype datatype);

}  // namespace penstock::group
