// SPDX-License-Identifier: Apache-2.0
#include "api/errors.hpp"
#include "api/handles.hpp"

using namespace penstock;

namespace {

template <void (core::Queue::*enqueue)(std::size_t, core::StreamOperation* const*)>
int one(PST_Queue queue, MPI_Request* request) {
  return api::guard_any_thread([&](core::Library& library) {
    core::Queue& target = api::queue_of(library, queue);
    api::require_pointer(request, "request");
    core::StreamOperation* const operation = &api::request_of(*request);
    (target.*enqueue)(1, &operation);
  });
}

template <void (core::Queue::*enqueue)(std::size_t, core::StreamOperation* const*)>
int several(PST_Queue queue, int count, MPI_Request requests[]) {
  return api::guard_any_thread([&](core::Library& library) {
    core::Queue& target = api::queue_of(library, queue);
    const auto operations = api::operations_of(count, requests);
    (target.*enqueue)(operations.size(), operations.data());
  });
}

}  // namespace

int PST_Enqueue_start(PST_Queue queue, MPI_Request* request) {
  return one<&core::Queue::start>(queue, request);
}

int PST_Enqueue_startall(PST_Queue queue, int count, MPI_Request requests[]) {
  return several<&core::Queue::start>(queue, count, requests);
}

int PST_Enqueue_wait(PST_Queue queue, MPI_Request* request) {
  return one<&core::Queue::wait>(queue, request);
}

int PST_Enqueue_waitall(PST_Queue queue, int count, MPI_Request requests[]) {
  return several<&core::Queue::wait>(queue, count, requests);
}

int PST_Enqueue_run(PST_Queue queue, MPI_Request* request) {
  return one<&core::Queue::run>(queue, request);
}

int PST_Enqueue_runall(PST_Queue queue, int count, MPI_Request requests[]) {
  return several<&core::Queue::run>(queue, count, requests);
}

int PST_Enqueue_wait_outstanding(PST_Queue queue) {
  return api::guard_any_thread(
      [&](core::Library& library) { api::queue_of(library, queue).wait_outstanding(); });
}
