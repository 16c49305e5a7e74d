// SPDX-License-Identifier: Apache-2.0
// Flattens an MPI datatype: which bytes of a buffer one element takes, in the order in which MPI
// sends them. Nothing: it is made by a call that we do not know, or a predefined one with gaps.
#pragma once

#include <mpi.h>

#include <optional>

#include "datatype/segments.hpp"
#include "group/datatype_contents.hpp"
#include "group/datatype_shape.hpp"

namespace penstock::group {

// Throws base::Error(mpi).
std::optional<datatype::Segments> segments_of_predefined(MPI_Datatype datatype);
// Throws base::Error(argument) where it reaches too far, base::Error(resources) and std::bad_alloc
// where there are too many segments.
std::optional<datatype::Segments> segments_of_derived(const DatatypeContents& contents,
                                                      ShapeParts parts);

}  // namespace penstock::group
