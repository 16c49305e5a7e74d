// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <memory>
#include <vector>

#include "api/errors.hpp"
#include "api/handles.hpp"
#include "core/matching/matcher.hpp"
#include "core/matching/matching_requests.hpp"
#include "core/monitor.hpp"
#include "core/queues.hpp"
#include "group/mpi_handle.hpp"

using namespace penstock;
using base::Error;
using base::ErrorKind;

namespace {

int mpi_rank(int rank) {
  return rank == core::null_rank ? MPI_PROC_NULL : rank == core::any_rank ? MPI_ANY_SOURCE : rank;
}

// Refuses a null pointer, except in MPIs whose MPI_STATUS_IGNORE is null.
template <class Ignore>
void require_status(const MPI_Status* status, Ignore ignore) {
  if (status != ignore) api::require_pointer(status, "status");
}

// A receive's status: where its message will come from, and its size; a send's: empty, as
// MPI_Wait's.
void write_status(const core::MatchedRequest& recorded, MPI_Status* status) {
  if (status == MPI_STATUS_IGNORE) return;
  const core::MatchResult& result = recorded.result();
  const bool receive = recorded.is_receive();
  status->MPI_SOURCE = receive ? mpi_rank(result.source) : MPI_ANY_SOURCE;
  status->MPI_TAG = receive && result.tag != core::any_tag ? result.tag : MPI_ANY_TAG;
  status->MPI_ERROR = MPI_SUCCESS;
  PMPI_Status_set_cancelled(status, 0);
  PMPI_Status_set_elements_x(status, MPI_BYTE, receive ? static_cast<MPI_Count>(result.bytes) : 0);
}

std::vector<core::MatchedRequest*> operations_to_match(int count, MPI_Request* requests) {
  const auto operations = api::requests_of(count, requests);
  return {operations.begin(), operations.end()};
}

// With the lanes of what gathers, but for those that an earlier call has matched.
std::vector<core::MatchedRequest*> with_lanes(std::vector<core::MatchedRequest*> operations) {
  for (std::size_t i = 0, count = operations.size(); i < count; ++i) {
    core::MatchedRequest* const each = operations[i];
    if (!each->gathers() || each->matched()) continue;
    for (core::MatchedRequest* const lane : each->recording().channel->lanes())
      if (!lane->matched()) operations.push_back(lane);
  }
  std::erase_if(operations, [](const core::MatchedRequest* each) {
    return each->gathers() && each->complete() && !each->matched();
  });
  return operations;
}

void match(int count, MPI_Request* requests, MPI_Status* statuses) {
  core::Library& library = core::Library::require();
  core::refuse_on_workers("PST_Match");
  if (count > 0) require_status(statuses, MPI_STATUSES_IGNORE);
  const auto operations = operations_to_match(count, requests);
  const auto job = library.matcher().prepare(with_lanes(operations));
  library.monitor().begin_watching();
  library.matcher().begin(job);
  library.matcher().finish(*job);
  if (statuses == MPI_STATUSES_IGNORE) return;
  for (std::size_t i = 0; i < operations.size(); ++i) write_status(*operations[i], &statuses[i]);
}

// ---- The generalized request of a match under way

struct Matching {
  std::shared_ptr<core::MatchJob> job;
  MPI_Request request = MPI_REQUEST_NULL;
  bool told = false;  // the error, if any
};

int query_matching(void* state, MPI_Status* status) {
  auto* const matching = static_cast<Matching*>(state);
  PMPI_Status_set_elements(status, MPI_BYTE, 0);
  PMPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_ANY_SOURCE;
  status->MPI_TAG = MPI_ANY_TAG;
  if (!matching->job || !matching->job->error) return MPI_SUCCESS;
  const core::RequestError& error = *matching->job->error;
  // MPI may ask again and again, and calls the error handler of MPI_COMM_WORLD itself.
  if (std::exchange(matching->told, true)) return api::error_code(error.kind());
  return api::guard([&] { throw error; });
}

int free_matching(void* state) {
  const std::unique_ptr<Matching> matching(static_cast<Matching*>(state));
  core::MatchingRequests::get().remove(group::handle_bits(matching->request));
  return MPI_SUCCESS;
}

int cancel_matching(void*, int) {
  return api::guard([] {
    throw Error(ErrorKind::unsupported,
                "a match under way cannot be cancelled: complete it with MPI_Wait or MPI_Test");
  });
}

void begin_match(int count, MPI_Request* requests, MPI_Request* out) {
  core::Library& library = core::Library::require();
  api::require_pointer(out, "matching");
  const auto operations = operations_to_match(count, requests);
  // The program may be inside any call of MPI's next.
  const bool helped = library.world().thread_level() == group::ThreadLevel::multiple;
  if (helped) library.matcher().drive_from_own_thread();
  library.monitor().begin_watching();
  auto matching = std::make_unique<Matching>();
  MPI_Request request = MPI_REQUEST_NULL;
  if (PMPI_Grequest_start(query_matching, free_matching, cancel_matching, matching.get(),
                          &request) != MPI_SUCCESS)
    throw Error(ErrorKind::mpi, "MPI_Grequest_start failed");
  Matching* const state = matching.release();  // MPI's now: free_matching deletes it
  state->request = request;
  try {
    core::MatchingRequests::get().add(group::handle_bits(request));
    state->job = library.matcher().prepare(with_lanes(operations));
    state->job->leaves = !helped;
    state->job->on_finished = [request] { PMPI_Grequest_complete(request); };
    library.matcher().begin(state->job);
  } catch (...) {  // nothing is under way
    state->job.reset();
    PMPI_Grequest_complete(request);
    PMPI_Request_free(&request);
    throw;
  }
  *out = request;
}

// What a matched request has by name, cut to the buffer.
template <class NameOf>
int write_name(MPI_Request request, char* name, int size, NameOf&& name_of) {
  return api::guard([&](core::Library&) {
    const core::MatchedRequest& recorded = api::request_of(request);
    if (!name || size <= 0)
      throw Error(ErrorKind::argument, "the name needs a buffer of at least one character");
    if (!recorded.matched())
      throw core::RequestError(recorded, ErrorKind::not_matched, core::not_matched_text);
    std::snprintf(name, static_cast<std::size_t>(size), "%s", name_of(recorded).c_str());
  });
}

}  // namespace

int PST_Match(MPI_Request* request, MPI_Status* status) {
  return api::guard([&](core::Library&) {
    api::require_pointer(request, "request");
    require_status(status, MPI_STATUS_IGNORE);
    match(1, request, status == MPI_STATUS_IGNORE ? MPI_STATUSES_IGNORE : status);
  });
}

int PST_Matchall(int count, MPI_Request requests[], MPI_Status* statuses) {
  return api::guard([&] { match(count, requests, statuses); });
}

int PST_Imatch(MPI_Request* request, MPI_Request* matching) {
  return api::guard([&](core::Library&) {
    api::require_pointer(request, "request");
    begin_match(1, request, matching);
  });
}

int PST_Imatchall(int count, MPI_Request requests[], MPI_Request* matching) {
  return api::guard([&] { begin_match(count, requests, matching); });
}

int PST_Is_matched(MPI_Request request, int* flag) {
  return api::guard([&](core::Library&) {
    api::require_pointer(flag, "flag");
    core::drive_matches();
    *flag = api::request_of(request).matched() ? 1 : 0;
  });
}

int PST_Match_status(MPI_Request request, MPI_Status* status) {
  return api::guard([&](core::Library&) {
    require_status(status, MPI_STATUS_IGNORE);
    const core::MatchedRequest& recorded = api::request_of(request);
    if (!recorded.matched())
      throw core::RequestError(recorded, ErrorKind::not_matched, core::not_matched_text);
    write_status(recorded, status);
  });
}

int PST_Request_transport(MPI_Request request, char* name, int size) {
  return write_name(request, name, size,
                    [](const core::MatchedRequest& matched) { return matched.transport(); });
}

int PST_Request_device(PST_Queue queue, MPI_Request request, int wait_blocks,
                       PST_Device_request* handle) {
  return api::guard_any_thread([&](core::Library& library) {
    core::Queue& target = api::queue_of(library, queue);
    api::require_pointer(handle, "handle");
    if (wait_blocks < 0)
      throw Error(ErrorKind::argument, "wait_blocks is a number of blocks, 0 or more");
    *handle = {};
    target.give_to_kernels(api::request_of(request), static_cast<unsigned>(wait_blocks),
                           std::as_writable_bytes(std::span(handle, 1)));
  });
}

int PST_Request_algorithm(MPI_Request request, char* name, int size) {
  return write_name(request, name, size,
                    [](const core::MatchedRequest& matched) { return matched.result().algorithm; });
}
