// SPDX-License-Identifier: Apache-2.0
#include "api/mpi_of_build.hpp"

#include <mpi.h>

#include <exception>
#include <string>

#include "group/world.hpp"

namespace penstock::api {

namespace {

#ifdef OPEN_MPI
constexpr bool built_for_open_mpi = true;
constexpr const char* family = "Open MPI";
#else
constexpr bool built_for_open_mpi = false;
constexpr const char* family = "MPICH, or an MPI of its family";
#endif

}  // namespace

std::string mpi_of_build() {
#if defined(OPEN_MPI)
  return "Open MPI " + std::to_string(OMPI_MAJOR_VERSION) + "." +
         std::to_string(OMPI_MINOR_VERSION) + "." + std::to_string(OMPI_RELEASE_VERSION);
#elif defined(MPICH_VERSION)
  return std::string("MPICH ") + MPICH_VERSION;
#else
  return family;
#endif
}

const char* mpi_family_of_build() noexcept {
  return family;
}

// An MPI that does not tell is taken to be the right one: its own errors come next.
bool loaded_mpi_is_of_family() noexcept {
  try {
    return group::loaded_mpi().starts_with("Open MPI") == built_for_open_mpi;
  } catch (const std::exception&) {
    return true;
  }
}

}  // namespace penstock::api
