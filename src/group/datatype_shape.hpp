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
  bool lasting = true;  // else there was no memory to look at it, which there may be later
  datatype::Signature signature;
};

using ShapePointer = std::shared_ptr<const DatatypeShape>;
// Of the datatypes that one is made of, in the order of the call.
using ShapeParts = std::span<const ShapePointer>;

// The refusal where there was no memory.
inline constexpr char no_memory_text[] =
    "there was no memory for the list of its pieces: free some, and make the request again";

// Calls MPI, as the caller of an init function may. Throws base::Error(mpi).
ShapePointer shape_of(MPI_Datatype datatype);

}  // namespace penstock::group
