// SPDX-License-Identifier: Apache-2.0
// The MPI request of an enqueued message: a generalized one, for MPI's Wait and Test families and
// MPI_Request_free. It completes when MPI is done with the message, triggered or given up.
#pragma once

#include <mpi.h>

#include <atomic>
#include <optional>

#include "base/error.hpp"
#include "base/free_list.hpp"

namespace penstock::enqueued {

// How an error becomes what a call of MPI's returns: on the thread that makes the call. `again`: it
// has been told before.
using ToMpi = int (*)(const base::Error& error, bool again);

struct MessageRequest : base::FreeItem<MessageRequest> {
  MPI_Request mpi = MPI_REQUEST_NULL;
  MPI_Status status{};
  std::optional<base::Error> error;
  std::atomic<bool> told{false};  // the error
  std::atomic<bool> held{false};  // neither the program, nor MPI for it, has freed it
  // Two: the message, until it ends; and MPI, until the program has freed the request. Either may
  // leave first.
  std::atomic<int> owners{0};
  base::FreeList<MessageRequest>* home = nullptr;
};

// Of a message to or from MPI_PROC_NULL (`source`), and of one that has moved nothing
// (MPI_ANY_SOURCE).
MPI_Status empty_status(int source) noexcept;

void set_errors_to_mpi(ToMpi to_mpi) noexcept;

// Makes MPI's request for one of `home`. Throws base::Error, std::bad_alloc.
MessageRequest& make_request(base::FreeList<MessageRequest>& home);
// MPI is done with the message, or it is given up. Any thread; the request may be gone when this
// returns.
void complete(MessageRequest& request, const MPI_Status& status, const base::Error* error) noexcept;
// Frees the requests of `home` that the program has not freed. All must be complete.
void free_held(base::FreeList<MessageRequest>& home) noexcept;

// Whether requests of this process are incomplete: then calls that complete requests move messages
// along.
bool any_incomplete() noexcept;

}  // namespace penstock::enqueued
