// SPDX-License-Identifier: Apache-2.0
// Once MPI has completed a request, another thread's MPI_Comm_idup may be given the same handle,
// before the call that completed the first one has returned. MPI's calls are scripted here, so that
// it always is.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <utility>

#include "support/endpoint.hpp"
#include "support/environment.hpp"

namespace penstock::test {
namespace {

std::set<MPI_Request> scripted;                       // handles that MPI has not given out
MPI_Request next_handle = MPI_REQUEST_NULL;           // for the next MPI_Comm_idup
std::function<void()> before_return_of_wait = [] {};  // what other threads do then

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace
}  // namespace penstock::test

// The library's calls of these names come here first.
extern "C" {

int PMPI_Comm_idup(MPI_Comm, MPI_Comm*, MPI_Request* request) {
  *request = penstock::test::next_handle;
  return MPI_SUCCESS;  // the communicator comes when the request is complete
}

int PMPI_Wait(MPI_Request* request, MPI_Status* status) {
  using namespace penstock::test;
  if (!scripted.contains(*request))
    return next<int(MPI_Request*, MPI_Status*)>("PMPI_Wait")(request, status);
  *request = MPI_REQUEST_NULL;
  std::exchange(before_return_of_wait, [] {})();
  return MPI_SUCCESS;
}

}  // extern "C"

namespace penstock::test {
namespace {

// A handle that MPI gives to nobody else.
class Handle {
 public:
  Handle() {
    MPI_Grequest_start([](void*, MPI_Status*) { return MPI_SUCCESS; },
                       [](void*) { return MPI_SUCCESS; }, [](void*, int) { return MPI_SUCCESS; },
                       nullptr, &request_);
    scripted.insert(request_);
  }
  ~Handle() {
    scripted.erase(request_);
    MPI_Grequest_complete(request_);
    PMPI_Request_free(&request_);
  }
  MPI_Request get() const { return request_; }

 private:
  MPI_Request request_ = MPI_REQUEST_NULL;
};

MPI_Request begin_idup(MPI_Comm* child, const Handle& handle) {
  next_handle = handle.get();
  MPI_Request request = MPI_REQUEST_NULL;
  EXPECT_PST(MPI_Comm_idup(MPI_COMM_WORLD, child, &request));
  return request;
}

void complete(MPI_Request request, MPI_Comm* child) {
  PMPI_Comm_dup(MPI_COMM_WORLD, child);
  EXPECT_PST(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

// Matching over a communicator that stayed unknown is an error.
void expect_known(MPI_Comm comm) {
  int out = 7, in = 0;
  MPI_Request pair[2];
  ASSERT_PST(MPI_Send_init(&out, 1, MPI_INT, rank(), 0, comm, &pair[0]));
  ASSERT_PST(MPI_Recv_init(&in, 1, MPI_INT, rank(), 0, comm, &pair[1]));
  EXPECT_PST(PST_Matchall(2, pair, MPI_STATUSES_IGNORE));
  for (MPI_Request& request : pair) MPI_Request_free(&request);
}

TEST(IdupHandles, AnyRequestsHandleGoesToAnIdup) {
  const Handle reused, elsewhere;
  MPI_Comm first = MPI_COMM_NULL, second = MPI_COMM_NULL;
  const MPI_Request under_way = begin_idup(&first, elsewhere);
  MPI_Request second_request = MPI_REQUEST_NULL;
  before_return_of_wait = [&] { second_request = begin_idup(&second, reused); };
  MPI_Request any = reused.get();
  EXPECT_PST(MPI_Wait(&any, MPI_STATUS_IGNORE));
  complete(second_request, &second);
  complete(under_way, &first);
  expect_known(first);
  expect_known(second);
  MPI_Comm_free(&first);
  MPI_Comm_free(&second);
}

TEST(IdupHandles, AnIdupsHandleGoesToAnotherWhichCompletesFirst) {
  const Handle reused;
  MPI_Comm first = MPI_COMM_NULL, second = MPI_COMM_NULL;
  MPI_Request request = begin_idup(&first, reused);
  PMPI_Comm_dup(MPI_COMM_WORLD, &first);
  before_return_of_wait = [&] { complete(begin_idup(&second, reused), &second); };
  EXPECT_PST(MPI_Wait(&request, MPI_STATUS_IGNORE));
  expect_known(first);
  expect_known(second);
  MPI_Comm_free(&first);
  MPI_Comm_free(&second);
}

TEST(IdupHandles, AnIdupsHandleGoesToAnotherWhichStaysUnderWay) {
  const Handle reused;
  MPI_Comm first = MPI_COMM_NULL, second = MPI_COMM_NULL;
  MPI_Request request = begin_idup(&first, reused), second_request = MPI_REQUEST_NULL;
  PMPI_Comm_dup(MPI_COMM_WORLD, &first);
  before_return_of_wait = [&] { second_request = begin_idup(&second, reused); };
  EXPECT_PST(MPI_Wait(&request, MPI_STATUS_IGNORE));
  expect_known(first);
  complete(second_request, &second);
  expect_known(second);
  MPI_Comm_free(&first);
  MPI_Comm_free(&second);
}

}  // namespace
}  // namespace penstock::test
