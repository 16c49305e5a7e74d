// SPDX-License-Identifier: Apache-2.0
// Datatypes of halves, which MPI has not: made when the program first asks for one.
#pragma once

#include <mpi.h>

#include <optional>

#include "transport/operations.hpp"

namespace penstock::api {

std::optional<transport::Element> half_type(MPI_Datatype type);  // nothing: it is none
void free_half_types() noexcept;

}  // namespace penstock::api
