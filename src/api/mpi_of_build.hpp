// SPDX-License-Identifier: Apache-2.0
// The MPI that this library was built for, and whether it is the one that has been loaded.
#pragma once

#include <string>

namespace penstock::api {

std::string mpi_of_build();  // its name and number, "MPICH 4.0.2"
const char* mpi_family_of_build() noexcept;

// The two families differ in the very types of their handles: with the other one nothing works.
// Also before MPI_Init.
bool loaded_mpi_is_of_family() noexcept;

}  // namespace penstock::api
