// SPDX-License-Identifier: Apache-2.0
// What the wrappers do besides MPI's call must not change that call's outcome.
#pragma once

#include <mpi.h>

#include <exception>
#include <string>

#include "base/forked.hpp"
#include "base/log.hpp"
#include "core/library.hpp"
#include "core/recording.hpp"
#include "group/mpi_communicator.hpp"

namespace penstock::api {

// Short of memory the text may be what cannot be made: that is no reason to end the program.
inline void warn_of_failure(const char* call, const char* consequence, const char* why) noexcept {
  try {
    base::log::warn(std::string(call) + ": " + consequence + ": " + why);
  } catch (const std::exception&) {
    base::log::warn(consequence);
  }
}

// Runs `body` after MPI's own call has succeeded; a failure goes to the log. Returns false when it
// has not run to its end. Outside MPI_Init ... MPI_Finalize (MPI sessions alone), after
// PST_Finalize and in a child of fork() nothing is recorded, silently.
template <class Body>
bool recording(const char* call, const char* consequence, Body&& body) noexcept {
  try {
    if (base::forked() || !group::world_usable() || core::Library::finalised()) return false;
    body();
    return true;
  } catch (const std::exception& error) {
    warn_of_failure(call, consequence, error.what());
    return false;
  }
}

// Keeps a request that no version of the match can serve, so that matching it says why.
void record_unmatchable(core::RequestKind kind, const char* call, MPI_Comm comm,
                        MPI_Request request);
// MPI may have returned a handle that we knew from an earlier request. When the new one cannot be
// recorded, the old entry must not stand for it.
void forget(MPI_Request request);

}  // namespace penstock::api
