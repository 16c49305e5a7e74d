// SPDX-License-Identifier: Apache-2.0
// What the profiling wrappers (recorder_*.cpp) and the explicit PST_ calls share. A program that
// calls none of our functions behaves as without us: errors of MPI pass through untouched, and
// where only the recording fails, the MPI call succeeds and the log says why its request is not
// recorded.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "core/recording.hpp"
#include "group/communicator.hpp"

namespace penstock::api {

// Creates the request by PMPI and records it. `call` is the caller's name, for messages.
int init_send(core::RequestKind kind, const char* call, decltype(PMPI_Send_init)* pmpi,
              const void* buffer, int count, MPI_Datatype datatype, int destination, int tag,
              MPI_Comm comm, MPI_Request* request);
int init_receive(const char* call, void* buffer, int count, MPI_Datatype datatype, int source,
                 int tag, MPI_Comm comm, MPI_Request* request);
// Takes the request out of the registry, if it is recorded, and frees it by PMPI. Throws
// base::Error(in_use).
int free_request(MPI_Request* request);

// What PST_Init and the wrappers of MPI_Init do: checks that this library was built for the MPI
// that runs (else says so and ends the process), initialises the library and has it cleaned up in
// MPI_Finalize. Collective over MPI_COMM_WORLD; does nothing the second time. Throws base::Error.
void initialise_library();
// Does nothing where the library is not initialised.
void finalise_library(const char* call) noexcept;  // `call`: who has begun it

// "" when MPI_Send_init resolves to this library; else which file it resolves to and what to do.
// Cheap after the first call.
const std::string& why_not_recording();

// Which threads may make a call: those that may call MPI, or any.
enum class Threads { as_mpi, any };

// Where the PST_ functions report errors (errors.cpp): sets the text for PST_Last_error, calls the
// error handler of the communicator (null: MPI_COMM_WORLD's) if this thread may call MPI now, and
// returns the MPI code.
int report_error(const base::Error& error, const group::Communicator* communicator,
                 Threads threads) noexcept;

}  // namespace penstock::api
