// SPDX-License-Identifier: Apache-2.0
// What the library knows of an MPI datatype. It stands in an attribute of the datatype, so it is
// found once for each, and goes when MPI frees that.
#pragma once

#include <mpi.h>

#include <memory>
#include <span>
#include <string>

#include "datatype/segments.hpp"
#include "datatype/signature.hpp"

namespace penstock::group {

struct DatatypeShape {
  MPI_Count size = 0;
  MPI_Count extent = 0;
  bool predefined = false;
  // Of one element. Null: MPI alone can take it apart, or it is refused.
  std::shared_ptr<const datatype::Segments> segments;
  std::string refusal;  // why no message can be like that; empty: one can
  datatype::Signature signature;
};

using ShapePointer = std::shared_ptr<const DatatypeShape>;
// Of the datatypes that one is made of, in the order of the call.
using ShapeParts = std::span<const ShapePointer>;

// Calls MPI, as the caller of an init function may. Throws base::Error(mpi).
ShapePointer shape_of(MPI_Datatype datatype);

}  // namespace penstock::group
