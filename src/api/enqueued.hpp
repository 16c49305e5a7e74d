// SPDX-License-Identifier: Apache-2.0
// Messages that a queue's trigger hands to MPI: what belongs to the process.
#pragma once

#include <mpi.h>

#include <atomic>

#include "group/communicator.hpp"

namespace penstock::api {

// With PENSTOCK_CHECK: the code of an error where `call`, a plain one with that peer, is made on a
// communicator whose messages are promised to be enqueued; MPI_SUCCESS: it may go on.
extern std::atomic<bool> checks_promises;
int promise_broken(const char* call, MPI_Comm comm) noexcept;
inline int keep_promise(const char* call, int peer, MPI_Comm comm) noexcept {
  return checks_promises.load(std::memory_order_relaxed) && peer != MPI_PROC_NULL
             ? promise_broken(call, comm)
             : MPI_SUCCESS;
}

// Before the first request of a message of ours is made.
void tell_requests_of_errors() noexcept;

// Moves the messages along, as MPI does its own in calls that complete requests.
void drive_enqueued() noexcept;
// Takes note of what streams of GPUs have sent and received on their own. False: one whose queue
// has failed is still at it.
bool catch_up_with_enqueued() noexcept;

// Before a communicator is freed on which all messages are enqueued at both ends. Collective over
// it. Throws base::Error(timeout).
void end_promise(group::Communicator& communicator);

// When the library ends and all streams have run dry, for which the thread is needed: it looks at
// what goes after that.
void end_enqueued() noexcept;

}  // namespace penstock::api
