// SPDX-License-Identifier: Apache-2.0
// MPI's own numbers and operations, which need no look at MPI.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <optional>

#include "transport/operations.hpp"

namespace penstock::api {

struct BasicType {
  MPI_Datatype type;
  std::size_t bytes;
  std::optional<transport::Element> element;  // nothing: it cannot be combined
};
const BasicType* basic_type(MPI_Datatype type) noexcept;  // null: it is none of these

// `what` takes it. Throw base::Error(unsupported), base::Error(argument).
transport::Element element_of(MPI_Datatype type, const char* what);
transport::Reduction reduction_of(MPI_Op op, transport::Element element, const char* what);

}  // namespace penstock::api
