// SPDX-License-Identifier: Apache-2.0
// These functions turn handles of the C API into the objects behind them. All throw base::Error for
// what is null, freed or unknown.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <span>

#include "core/library.hpp"
#include "core/matched_request.hpp"
#include "core/queue.hpp"
#include "core/queues.hpp"
#include "core/registry.hpp"
#include "group/mpi_handle.hpp"
#include "penstock/penstock.h"

namespace penstock::api {

[[noreturn, gnu::cold]] void refuse_queue(PST_Queue queue);
[[noreturn, gnu::cold]] void refuse_request(MPI_Request request);

inline core::Queue& queue_of(core::Library& library, PST_Queue queue) {
  core::Queue* const found =
      library.queues().queues().find(reinterpret_cast<std::uintptr_t>(queue));
  if (found == nullptr) refuse_queue(queue);
  return *found;
}
inline core::MatchedRequest& request_of(MPI_Request request) {
  core::MatchedRequest* const found = core::Registry::get().find(group::handle_bits(request));
  if (found == nullptr) refuse_request(request);
  return *found;
}

// Throws Error(unsupported) where the info key mpi_memory_alloc_kinds names no kind that is served.
void require_served_kinds(MPI_Info info);

// What an array of requests stands for, for as long as the calling thread makes no other such call.
// Allocates only when an array is longer than any before it in this thread.
std::span<core::MatchedRequest* const> requests_of(int count, const MPI_Request* requests);
std::span<core::StreamOperation* const> operations_of(int count, const MPI_Request* requests);

}  // namespace penstock::api
