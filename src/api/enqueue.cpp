// SPDX-License-Identifier: Apache-2.0
#include "api/errors.hpp"
#include "api/handles.hpp"

using namespace penstock;

int PST_Enqueue_start(PST_Queue queue, MPI_Request* request) {
  return api::guard_any_thread([&] {
    core::Queue& target = api::queue_of(core::Library::require(), queue);
    api::require_pointer(request, "request");
    core::MatchedRequest* operation = &api::operation_of(*request);
    target.start(1, &operation);
  });
}

int PST_Enqueue_startall(PST_Queue queue, int count, MPI_Request requests[]) {
  return api::guard_any_thread([&] {
    core::Queue& target = api::queue_of(core::Library::require(), queue);
    const auto operations = api::operations_of(count, requests);
    target.start(operations.size(), operations.data());
  });
}

int PST_Enqueue_wait(PST_Queue queue, MPI_Request* request) {
  return api::guard_any_thread([&] {
    core::Queue& target = api::queue_of(core::Library::require(), queue);
    api::require_pointer(request, "request");
    core::MatchedRequest* operation = &api::operation_of(*request);
    target.wait(1, &operation);
  });
}

int PST_Enqueue_waitall(PST_Queue queue, int count, MPI_Request requests[]) {
  return api::guard_any_thread([&] {
    core::Queue& target = api::queue_of(core::Library::require(), queue);
    const auto operations = api::operations_of(count, requests);
    target.wait(operations.size(), operations.data());
  });
}

int PST_Enqueue_run(PST_Queue queue, MPI_Request* request) {
  return api::guard_any_thread([&] {
    core::Queue& target = api::queue_of(core::Library::require(), queue);
    api::require_pointer(request, "request");
    core::MatchedRequest* operation = &api::operation_of(*request);
    target.run(1, &operation);
  });
}

int PST_Enqueue_runall(PST_Queue queue, int count, MPI_Request requests[]) {
  return api::guard_any_thread([&] {
    core::Queue& target = api::queue_of(core::Library::require(), queue);
    const auto operations = api::operations_of(count, requests);
    target.run(operations.size(), operations.data());
  });
}

int PST_Enqueue_wait_outstanding(PST_Queue queue) {
  return api::guard_any_thread(
      [&] { api::queue_of(core::Library::require(), queue).wait_outstanding(); });
}
