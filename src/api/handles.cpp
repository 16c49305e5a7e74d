// SPDX-License-Identifier: Apache-2.0
#include "api/handles.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "api/errors.hpp"
#include "base/thread_own.hpp"
#include "core/matching/matching_requests.hpp"
#include "group/mpi_handle.hpp"

namespace penstock::api {

using base::Error;
using base::ErrorKind;

void refuse_queue(PST_Queue queue) {
  throw Error(ErrorKind::queue,
              std::string(queue ? "the queue has been freed" : "the queue is PST_QUEUE_NULL") +
                  ": make one with PST_Queue_init or PST_Queue_create");
}

void refuse_request(MPI_Request request) {
  if (request == MPI_REQUEST_NULL)
    throw Error(ErrorKind::request,
                "the request is MPI_REQUEST_NULL: leave it out, make it with MPI_Send_init or its "
                "kind, or see why that call failed (to or from MPI_PROC_NULL it does nothing)");
  if (core::MatchingRequests::get().contains(group::handle_bits(request)))
    throw Error(
        ErrorKind::request,
        "the request is one that PST_Imatch returned: complete it with MPI_Wait; what is matched "
        "and enqueued is the persistent request");
  const std::string& why = why_not_recording();
  throw Error(
      ErrorKind::request,
      why.empty()
          ? "the request has been freed, or is not a persistent one "
            "that Penstock has recorded: those of MPI_Send_init, Ssend_init, "
            "Rsend_init, Bsend_init, Recv_init, Psend_init, Precv_init and of the collectives "
            "of docs/collectives.md match; "
            "that of an enqueued message is completed by MPI_Wait"
          : "the request has not been recorded: " + why);
}

namespace {

[[noreturn, gnu::cold]] void refuse_element(int index, int count, MPI_Request request) {
  try {
    refuse_request(request);
  } catch (const Error& why) {
    if (count == 1) throw;
    throw Error(why.kind(), fmt::format("element {} of the array: {}", index, why.what()));
  }
}

template <class Found>
std::span<Found* const> found_for(int count, const MPI_Request* requests) {
  if (count < 0)
    throw Error(ErrorKind::argument, "the count of requests is negative: " + std::to_string(count));
  if (count > 0) require_pointer(requests, "the array of requests");
  auto& all = base::thread_own<std::vector<Found*>>();
  all.clear();
  for (int i = 0; i < count; ++i) {
    core::MatchedRequest* const found = core::Registry::get().find(group::handle_bits(requests[i]));
    if (found == nullptr) refuse_element(i, count, requests[i]);
    all.push_back(found);
  }
  return all;
}

}  // namespace

std::span<core::MatchedRequest* const> requests_of(int count, const MPI_Request* requests) {
  return found_for<core::MatchedRequest>(count, requests);
}

std::span<core::StreamOperation* const> operations_of(int count, const MPI_Request* requests) {
  return found_for<core::StreamOperation>(count, requests);
}

}  // namespace penstock::api
