// SPDX-License-Identifier: Apache-2.0
// Below MPI_THREAD_MULTIPLE only the thread that has initialised MPI calls it: errors in functions
// of a stream and in other threads of the program come back as codes without it. At
// MPI_THREAD_SERIALIZED that thread too calls it only in what counts as a call of MPI. The calls
// that could be made are caught below.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "support/endpoint.hpp"
#include "support/environment.hpp"

namespace penstock::test {
namespace {

const std::thread::id main_thread = std::this_thread::get_id();
std::atomic<int> calls_elsewhere{0};  // of MPI, on other threads than the main one
std::atomic<int> handler_calls{0};

void count_call(MPI_Comm*, int*, ...) {
  ++handler_calls;
}

template <class Function>
Function* next(const char* name) {
  if (std::this_thread::get_id() != main_thread) ++calls_elsewhere;
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace
}  // namespace penstock::test

// The library's calls of these names come here first.
extern "C" {

int PMPI_Add_error_class(int* error_class) {
  return penstock::test::next<int(int*)>("PMPI_Add_error_class")(error_class);
}

int PMPI_Add_error_code(int error_class, int* code) {
  return penstock::test::next<int(int, int*)>("PMPI_Add_error_code")(error_class, code);
}

int PMPI_Comm_call_errhandler(MPI_Comm comm, int code) {
  return penstock::test::next<int(MPI_Comm, int)>("PMPI_Comm_call_errhandler")(comm, code);
}

int PMPI_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler* handler) {
  return penstock::test::next<int(MPI_Comm, MPI_Errhandler*)>("PMPI_Comm_get_errhandler")(comm,
                                                                                          handler);
}

int PMPI_Info_get(MPI_Info info, const char* key, int length, char* value, int* flag) {
  return penstock::test::next<int(MPI_Info, const char*, int, char*, int*)>("PMPI_Info_get")(
      info, key, length, value, flag);
}

}  // extern "C"

namespace penstock::test {
namespace {

class CallingThreads : public ::testing::Test {
 protected:
  void SetUp() override {
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    multiple_ = level == MPI_THREAD_MULTIPLE;
    serialized_ = level == MPI_THREAD_SERIALIZED;
    MPI_Comm_create_errhandler(count_call, &handler_);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler_);
    handler_calls = 0;
    calls_elsewhere = 0;
  }

  void TearDown() override {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&handler_);
  }

  // What `errors` failing calls on another thread may have done.
  void expect_mpi_only_where_allowed(int errors) const {
    EXPECT_EQ(handler_calls, multiple_ ? errors : 0);
    if (multiple_)
      EXPECT_GE(calls_elsewhere, errors);  // they are caught
    else
      EXPECT_EQ(calls_elsewhere, 0);
  }

  bool serialized() const { return serialized_; }

 private:
  bool multiple_ = false;
  bool serialized_ = false;
  MPI_Errhandler handler_ = MPI_ERRHANDLER_NULL;
};

void run_on_stream(const std::function<void()>& body) {
  Lane lane;
  std::function<void()> copy = body;
  lane.launch([](void* function) { (*static_cast<std::function<void()>*>(function))(); }, &copy);
  lane.finish();
}

void run_on_thread(const std::function<void()>& body) {
  std::thread(body).join();
}

TEST_F(CallingThreads, AnErrorInAFunctionOfTheStream) {
  PST_Error kind = PST_ERROR_NONE;
  std::string text;
  run_on_stream([&] {
    kind = kind_of(PST_Enqueue_start(PST_QUEUE_NULL, nullptr));
    text = last_error();
  });
  EXPECT_EQ(kind, PST_ERROR_QUEUE);
  EXPECT_NE(text, "");
  expect_mpi_only_where_allowed(1);
}

TEST_F(CallingThreads, AnErrorInAnotherThread) {
  int value = 0;
  MPI_Request unmatched = MPI_REQUEST_NULL;
  MPI_Recv_init(&value, 1, MPI_INT, rank(), 77, MPI_COMM_WORLD, &unmatched);
  Lane lane;
  PST_Error not_matched = PST_ERROR_NONE;
  PST_Error queue = PST_ERROR_NONE;
  run_on_thread([&] {
    not_matched = kind_of(PST_Enqueue_start(lane.queue(), &unmatched));
    queue = kind_of(PST_Queue_wait(PST_QUEUE_NULL));
  });
  EXPECT_EQ(not_matched, PST_ERROR_NOT_MATCHED);
  EXPECT_EQ(queue, PST_ERROR_QUEUE);
  expect_mpi_only_where_allowed(2);
  MPI_Request_free(&unmatched);
}

TEST_F(CallingThreads, AnErrorInTheMainThread) {
  EXPECT_PST_KIND(PST_Queue_wait(PST_QUEUE_NULL), PST_ERROR_QUEUE);
  EXPECT_EQ(handler_calls, serialized() ? 0 : 1);
}

TEST_F(CallingThreads, AnErrorInACallOfMpi) {
  EXPECT_PST_KIND(PST_Match(nullptr, MPI_STATUS_IGNORE), PST_ERROR_ARGUMENT);
  EXPECT_EQ(handler_calls, 1);
}

TEST_F(CallingThreads, AnotherThreadMakesStreamsQueuesAndMemory) {
  run_on_thread([] {
    PST_Stream stream = PST_STREAM_NULL;
    PST_Queue queue = PST_QUEUE_NULL;
    void* memory = nullptr;
    EXPECT_EQ(PST_Stream_create(&stream), MPI_SUCCESS);
    EXPECT_EQ(PST_Queue_init(&queue, PST_QUEUE_HOST, &stream), MPI_SUCCESS);
    EXPECT_EQ(PST_Alloc_mem(100, MPI_INFO_NULL, &memory), MPI_SUCCESS);
    EXPECT_EQ(PST_Free_mem(memory), MPI_SUCCESS);
    EXPECT_EQ(PST_Queue_wait(queue), MPI_SUCCESS);
    EXPECT_EQ(PST_Queue_free(&queue), MPI_SUCCESS);
    EXPECT_EQ(PST_Stream_synchronize(stream), MPI_SUCCESS);
    EXPECT_EQ(PST_Stream_free(&stream), MPI_SUCCESS);
  });
  // At MPI_THREAD_SERIALIZED PST_Queue_init counts as a call of MPI: it looks at the error handler.
  if (serialized())
    EXPECT_EQ(calls_elsewhere, 1);
  else
    expect_mpi_only_where_allowed(0);
}

}  // namespace
}  // namespace penstock::test
