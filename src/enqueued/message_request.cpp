// SPDX-License-Identifier: Apache-2.0
#include "enqueued/message_request.hpp"

#include <utility>

#include "group/mpi_check.hpp"

namespace penstock::enqueued {

using base::Error;
using base::ErrorKind;

namespace {

std::atomic<ToMpi> errors_to_mpi{nullptr};
std::atomic<int> incomplete{0};

int to_mpi(const Error& error, bool again) noexcept {
  const ToMpi convert = errors_to_mpi.load(std::memory_order_acquire);
  return convert ? convert(error, again) : MPI_ERR_OTHER;
}

// Release: what this owner has done with it comes before its next use.
void leave(MessageRequest& request) noexcept {
  if (request.owners.fetch_sub(1, std::memory_order_acq_rel) == 1) request.home->give_back(request);
}

extern "C" int penstock_query_message(void* state, MPI_Status* status) {
  auto& request = *static_cast<MessageRequest*>(state);
  const int kept = status->MPI_ERROR;  // the call's that completes several
  *status = request.status;
  status->MPI_ERROR = kept;
  if (!request.error) return MPI_SUCCESS;
  return to_mpi(*request.error, request.told.exchange(true, std::memory_order_relaxed));
}

extern "C" int penstock_free_message(void* state) {
  auto& request = *static_cast<MessageRequest*>(state);
  request.held.store(false, std::memory_order_relaxed);
  leave(request);
  return MPI_SUCCESS;
}

extern "C" int penstock_cancel_message(void*, int) {
  static const Error error(ErrorKind::unsupported,
                           "an enqueued message cannot be cancelled: complete its request with "
                           "MPI_Wait or MPI_Test");
  return to_mpi(error, false);
}

}  // namespace

MPI_Status empty_status(int source) noexcept {
  MPI_Status status{};
  PMPI_Status_set_elements(&status, MPI_BYTE, 0);
  PMPI_Status_set_cancelled(&status, 0);
  status.MPI_SOURCE = source;
  status.MPI_TAG = MPI_ANY_TAG;
  return status;
}

void set_errors_to_mpi(ToMpi convert) noexcept {
  errors_to_mpi.store(convert, std::memory_order_release);
}

MessageRequest& make_request(base::FreeList<MessageRequest>& home) {
  MessageRequest& request = home.take();
  request.home = &home;
  request.error.reset();
  request.told.store(false, std::memory_order_relaxed);
  const int code = PMPI_Grequest_start(penstock_query_message, penstock_free_message,
                                       penstock_cancel_message, &request, &request.mpi);
  if (code != MPI_SUCCESS) {
    home.give_back(request);
    group::throw_mpi_error(code, "MPI_Grequest_start");
  }
  request.held.store(true, std::memory_order_relaxed);
  request.owners.store(2, std::memory_order_relaxed);
  incomplete.fetch_add(1, std::memory_order_relaxed);
  return request;
}

// The count falls last: a call that finds nothing incomplete must find MPI's request complete.
void complete(MessageRequest& request, const MPI_Status& status, const Error* error) noexcept {
  request.status = status;
  if (error) request.error = *error;
  PMPI_Grequest_complete(request.mpi);
  leave(request);
  incomplete.fetch_sub(1, std::memory_order_release);
}

void free_held(base::FreeList<MessageRequest>& home) noexcept {
  home.for_each([](MessageRequest& request) {
    if (!request.held.load(std::memory_order_acquire)) return;
    MPI_Request mpi = request.mpi;
    PMPI_Request_free(&mpi);
  });
}

bool any_incomplete() noexcept {
  return incomplete.load(std::memory_order_acquire) > 0;
}

}  // namespace penstock::enqueued
