// SPDX-License-Identifier: Apache-2.0
// MPI_Start, and the Wait and Test families. While a match is under way they drive it, as nobody
// else may; otherwise they are MPI's own after four relaxed loads (has anything been matched, is a
// match under way, is an MPI_Comm_idup, has MPI started anything matched).
#include <atomic>
#include <string>

#include "api/errors.hpp"
#include "api/recorder_driving.hpp"
#include "api/recorder_idup.hpp"
#include "base/forked.hpp"
#include "core/library.hpp"
#include "core/matched_request.hpp"
#include "core/matching/matching_requests.hpp"
#include "core/queue.hpp"
#include "core/registry.hpp"
#include "core/request_error.hpp"
#include "group/mpi_handle.hpp"

using penstock::api::cancel_large;
using penstock::api::drive;
using penstock::api::IdupWatch;
using penstock::api::overlaps;
using penstock::api::PersistentRequests;
using penstock::api::wait_driving;
using penstock::api::wait_for;

namespace {

// MPI knows nothing of a start on a queue: for it the request is inactive, and complete at once,
// with its buffer not yet filled or still being sent.
[[noreturn]] void refuse(const penstock::core::MatchedRequest& recorded, const char* instead) {
  throw penstock::core::RequestError(recorded, penstock::base::ErrorKind::in_use,
                                     " has been started on queue " +
                                         std::to_string(recorded.started_on->number()) +
                                         ", which MPI knows nothing of: enqueue PST_Enqueue_wait "
                                         "for it, or call PST_Queue_wait, " +
                                         instead);
}

// The request behind a handle that is matched; else null.
penstock::core::MatchedRequest* matched(MPI_Request request) {
  if (request == MPI_REQUEST_NULL) return nullptr;
  auto* const found = penstock::core::Registry::get().find(penstock::group::handle_bits(request));
  return found != nullptr && found->matched() ? found : nullptr;
}

int refuse_started_slowly(int count, const MPI_Request* requests, const char* instead) {
  if (requests == nullptr) return MPI_SUCCESS;
  return penstock::api::guard([&] {
    for (int i = 0; i < count; ++i)
      if (const auto* const recorded = matched(requests[i]);
          recorded != nullptr && recorded->started_on != nullptr)
        refuse(*recorded, instead);
  });
}

// The code to return, without a call of MPI's; MPI_SUCCESS to go on.
int refuse_started(int count, const MPI_Request* requests,
                   const char* instead = "in place of MPI_Wait and its kind") {
  if (!penstock::core::MatchedRequest::any_matched()) return MPI_SUCCESS;
  return refuse_started_slowly(count, requests, instead);
}

// Whether MPI has ever started a matched request.
std::atomic<bool> any_started{false};

// What MPI_Start and MPI_Startall do. A queue must not start what MPI has active.
template <class Start>
int start(int count, const MPI_Request* requests, const char* instead, Start&& start_by_mpi) {
  if (const int code = refuse_started(count, requests, instead); code != MPI_SUCCESS) return code;
  const int code = start_by_mpi();
  if (code != MPI_SUCCESS || !penstock::core::MatchedRequest::any_matched()) return code;
  for (int i = 0; i < count; ++i)
    if (auto* const request = matched(requests[i]); request != nullptr) {
      request->set_active_in_mpi(true);
      any_started.store(true, std::memory_order_relaxed);
    }
  return code;
}

// A large message's is the library's start.
int start_one(MPI_Request* request) {
  if (overlaps() && request != nullptr)
    if (const auto code = penstock::api::start_persistent(*request)) return *code;
  return PMPI_Start(request);
}

int start_several(int count, MPI_Request* requests) {
  if (!overlaps() || requests == nullptr) return PMPI_Startall(count, requests);
  for (int i = 0; i < count; ++i)
    if (const int code = start_one(&requests[i]); code != MPI_SUCCESS) return code;
  return MPI_SUCCESS;
}

void end_in_mpi(int count, const MPI_Request* requests) {
  if (!any_started.load(std::memory_order_relaxed)) return;
  for (int i = 0; i < count; ++i)
    if (auto* const request = matched(requests[i]); request != nullptr)
      request->set_active_in_mpi(false);
}

// Those at the indices. MPI_UNDEFINED, of a count or an index, is none.
void end_in_mpi(int count, const int* indices, const MPI_Request* requests) {
  for (int i = 0; i < count; ++i)
    if (indices[i] != MPI_UNDEFINED) end_in_mpi(1, &requests[indices[i]]);
}

// What every call that completes requests does around MPI's own. `note_ended`: which of them it has
// completed, by what it has told.
template <class Complete, class NoteEnded>
int complete(int count, MPI_Request* requests, Complete&& complete_by_mpi, NoteEnded&& note_ended) {
  if (const int code = refuse_started(count, requests); code != MPI_SUCCESS) return code;
  PersistentRequests persistent(count, requests);
  IdupWatch idup(count, requests);
  const int code = complete_by_mpi();
  persistent.restore();
  note_ended(code == MPI_SUCCESS);
  return idup.after(code);
}

// MPI_Testall may come back with an error before all are complete, where MPI_Waitall would not: the
// others have MPI_ERR_PENDING then.
void wait_for_the_rest(int count, MPI_Request* requests, MPI_Status* statuses) {
  for (int i = 0; i < count; ++i) {
    const bool told = statuses != MPI_STATUSES_IGNORE;
    if (requests[i] == MPI_REQUEST_NULL) continue;
    if (told && statuses[i].MPI_ERROR != MPI_ERR_PENDING) continue;
    const int code = wait_for(&requests[i], told ? &statuses[i] : MPI_STATUS_IGNORE);
    if (told) statuses[i].MPI_ERROR = code;
  }
}

}  // namespace

// The message would be MPI's own, from or into a buffer that the queue uses.
int MPI_Start(MPI_Request* request) {
  return start(1, request, "before MPI_Start", [&] { return start_one(request); });
}

int MPI_Startall(int count, MPI_Request requests[]) {
  return start(count, requests, "before MPI_Startall",
               [&] { return start_several(count, requests); });
}

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  return complete(
      1, request, [&] { return wait_for(request, status); },
      [&](bool /*all_well*/) { end_in_mpi(1, request); });
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  return complete(
      count, requests,
      [&] {
        const int code =
            wait_driving([&](int* done) { return PMPI_Testall(count, requests, done, statuses); },
                         [&] { return PMPI_Waitall(count, requests, statuses); });
        if (code == MPI_ERR_IN_STATUS) wait_for_the_rest(count, requests, statuses);
        return code;
      },
      [&](bool /*all_well*/) { end_in_mpi(count, requests); });
}

int MPI_Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  return complete(
      count, requests,
      [&] {
        return wait_driving(
            [&](int* done) { return PMPI_Testany(count, requests, index, done, status); },
            [&] { return PMPI_Waitany(count, requests, index, status); });
      },
      [&](bool all_well) {
        if (all_well) end_in_mpi(1, index, requests);
      });
}

int MPI_Waitsome(int incount, MPI_Request requests[], int* outcount, int indices[],
                 MPI_Status statuses[]) {
  return complete(
      incount, requests,
      [&] {
        return wait_driving(
            [&](int* done) {
              const int code = PMPI_Testsome(incount, requests, outcount, indices, statuses);
              *done = code == MPI_SUCCESS && *outcount != 0;
              return code;
            },
            [&] { return PMPI_Waitsome(incount, requests, outcount, indices, statuses); });
      },
      [&](bool all_well) {
        if (all_well) end_in_mpi(*outcount, indices, requests);
      });
}

int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  return complete(
      1, request,
      [&] {
        drive();
        return PMPI_Test(request, flag, status);
      },
      [&](bool all_well) {
        if (all_well && *flag != 0) end_in_mpi(1, request);
      });
}

int MPI_Testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  return complete(
      count, requests,
      [&] {
        drive();
        return PMPI_Testall(count, requests, flag, statuses);
      },
      [&](bool all_well) {
        if (all_well && *flag != 0) end_in_mpi(count, requests);
      });
}

int MPI_Testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  return complete(
      count, requests,
      [&] {
        drive();
        return PMPI_Testany(count, requests, index, flag, status);
      },
      [&](bool all_well) {
        if (all_well && *flag != 0) end_in_mpi(1, index, requests);
      });
}

int MPI_Testsome(int incount, MPI_Request requests[], int* outcount, int indices[],
                 MPI_Status statuses[]) {
  return complete(
      incount, requests,
      [&] {
        drive();
        return PMPI_Testsome(incount, requests, outcount, indices, statuses);
      },
      [&](bool all_well) {
        if (all_well) end_in_mpi(*outcount, indices, requests);
      });
}

int MPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  if (const int code = refuse_started(1, &request); code != MPI_SUCCESS) return code;
  PersistentRequests persistent(1, &request);
  IdupWatch idup(1, &request);
  drive();
  const int code = PMPI_Request_get_status(request, flag, status);
  if (code == MPI_SUCCESS && *flag) idup.completed();
  return code;
}

int MPI_Cancel(MPI_Request* request) {
  if (request != nullptr && !penstock::base::forked() &&
      penstock::core::MatchingRequests::get().contains(penstock::group::handle_bits(*request)))
    return penstock::api::guard([] {
      throw penstock::base::Error(
          penstock::base::ErrorKind::unsupported,
          "a match under way cannot be cancelled: complete its request with MPI_Wait");
    });
  if (overlaps() && request != nullptr)
    if (const auto code = cancel_large(*request)) return *code;
  if (const int code = refuse_started(1, request, "in place of MPI_Cancel"); code != MPI_SUCCESS)
    return code;
  return PMPI_Cancel(request);
}
