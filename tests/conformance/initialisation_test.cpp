// SPDX-License-Identifier: Apache-2.0
// What calls give before MPI_Init, between MPI_Init and PST_Init, and after MPI_Finalize; and that
// ranks initialise the library together or not at all. The cases are one program's life, in their
// order.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <penstock/penstock.hpp>
#include <string>
#include <thread>

#include "support/environment.hpp"

namespace penstock::test {
namespace {

int handler_calls = 0;

void count_call(MPI_Comm*, int*, ...) {
  ++handler_calls;
}

// What `body` prints on standard error.
std::string printed_by(const std::function<void()>& body) {
  std::FILE* file = std::tmpfile();
  std::fflush(stderr);
  const int before = dup(STDERR_FILENO);
  dup2(fileno(file), STDERR_FILENO);
  body();
  std::fflush(stderr);
  dup2(before, STDERR_FILENO);
  close(before);
  std::string text(10000, '\0');
  std::rewind(file);
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

void expect_one_line(const std::string& text) {
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
}

void expect_in_last_error(const std::string& part) {
  EXPECT_NE(last_error().find(part), std::string::npos) << last_error();
}

int last_rank() {
  return size() - 1;
}

// Every rank is alive, and MPI works as before.
void expect_plain_mpi() {
  int sum = 0;
  const int one = 1;
  ASSERT_EQ(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(sum, size());
}

// PST_Init fails on every rank, for what only the last one has.
void expect_no_rank_initialised(PST_Error kind, const std::string& cause) {
  EXPECT_PST_KIND(PST_Init(), kind);
  expect_in_last_error(cause);
  if (rank() != last_rank()) expect_in_last_error("rank " + std::to_string(last_rank()));
  EXPECT_PST_KIND(PST_Queue_wait(PST_QUEUE_NULL), PST_ERROR_NOT_INITIALIZED);
  expect_in_last_error(cause);
  expect_plain_mpi();
}

TEST(Initialisation, BeforeMpiInit) {
  expect_one_line(printed_by([] { EXPECT_EQ(PST_Queue_wait(PST_QUEUE_NULL), MPI_ERR_OTHER); }));
  expect_in_last_error("PST_Init");
  expect_one_line(printed_by([] { EXPECT_EQ(PST_Init(), MPI_ERR_OTHER); }));
  int version = 0;
  EXPECT_EQ(PST_Get_version(&version, &version, &version), MPI_SUCCESS);
}

TEST(Initialisation, BeforePstInit) {
  // As in a program whose MPI_Init is not ours.
  ASSERT_EQ(PMPI_Init(nullptr, nullptr), MPI_SUCCESS);
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(count_call, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Errhandler_free(&handler);

  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  int elsewhere = MPI_SUCCESS;
  std::thread([&] { elsewhere = PST_Queue_wait(PST_QUEUE_NULL); }).join();
  if (level < MPI_THREAD_MULTIPLE) {
    EXPECT_EQ(elsewhere, MPI_ERR_OTHER);
    EXPECT_EQ(handler_calls, 0);
  }
  handler_calls = 0;
  EXPECT_PST_KIND(PST_Queue_wait(PST_QUEUE_NULL), PST_ERROR_NOT_INITIALIZED);
  expect_in_last_error("PST_Init");
  EXPECT_EQ(handler_calls, 1);
}

TEST(Initialisation, ABadSettingOfOneRank) {
  if (rank() == last_rank()) setenv("PENSTOCK_SLOTS", "1", 1);
  expect_no_rank_initialised(PST_ERROR_SETTING, "PENSTOCK_SLOTS='1'");
  if (rank() == last_rank()) unsetenv("PENSTOCK_SLOTS");
}

TEST(Initialisation, RanksWithDifferentOverlap) {
  if (size() == 1) return;
  if (rank() == last_rank()) setenv("PENSTOCK_OVERLAP", "exact", 1);
  expect_no_rank_initialised(PST_ERROR_SETTING, "rank 0 has PENSTOCK_OVERLAP=off and rank");
  setenv("PENSTOCK_OVERLAP", "exact", 1);
  if (rank() == last_rank()) setenv("PENSTOCK_OVERLAP_MIN", "70000", 1);
  expect_no_rank_initialised(PST_ERROR_SETTING, "exact with PENSTOCK_OVERLAP_MIN=70000");
  unsetenv("PENSTOCK_OVERLAP_MIN");
  setenv("PENSTOCK_OVERLAP", rank() == last_rank() ? "traced" : "off", 1);
  expect_no_rank_initialised(PST_ERROR_SETTING, "this version has no traced mode");
  unsetenv("PENSTOCK_OVERLAP");
}

TEST(Initialisation, ATransportThatDoesNotExist) {
  setenv("PENSTOCK_TRANSPORT", "telegraph", 1);
  EXPECT_PST_KIND(PST_Init(), PST_ERROR_SETTING);
  expect_in_last_error("peer, ofi, proxy");
  unsetenv("PENSTOCK_TRANSPORT");
}

TEST(Initialisation, OneRankWithoutFileDescriptors) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "UndefinedBehaviorSanitizer looks at memory through a pipe, and takes every "
                  "object for a bad one here";
#endif
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  if (rank() == last_rank()) {
    rlimit full = before;
    const int lowest_free = dup(STDERR_FILENO);
    close(lowest_free);
    full.rlim_cur = static_cast<rlim_t>(lowest_free);
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &full), 0);
  }
  expect_no_rank_initialised(PST_ERROR_RESOURCES, "eventfd");
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

#if MPI_VERSION >= 4
// The settings, and where its members are, become known later.
MPI_Request early_collective = MPI_REQUEST_NULL;
int early_sum = 1;

TEST(Initialisation, ACollectiveIsMadeBeforePstInit) {
  ASSERT_EQ(MPI_Allreduce_init(MPI_IN_PLACE, &early_sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                               MPI_INFO_NULL, &early_collective),
            MPI_SUCCESS);
  setenv("PENSTOCK_COLL", "allreduce:magic", 1);
}
#endif

TEST(Initialisation, ATransportThatNeedsAnotherThreadLevel) {
  setenv("PENSTOCK_TRANSPORT", "proxy", 1);
  ASSERT_PST(PST_Init());
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  if (level == MPI_THREAD_MULTIPLE) GTEST_SKIP() << "MPI gives MPI_THREAD_MULTIPLE unasked";
  int value = 0;
  // A send and its receive, of which pairs of ranks have one each.
  std::array<MPI_Request, 2> requests{};
  MPI_Send_init(&value, 1, MPI_INT, partner(), 3, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv_init(&value, 1, MPI_INT, partner(), 3, MPI_COMM_WORLD, &requests[1]);
  const int both = partner() == rank() ? 2 : 1;
  EXPECT_PST_KIND(PST_Matchall(both, &requests[both == 2 ? 0 : rank() % 2], MPI_STATUSES_IGNORE),
                  PST_ERROR_THREAD_LEVEL);
  expect_in_last_error("PENSTOCK_THREAD_MULTIPLE=1");
  expect_in_last_error("MPI_Init_thread");
  for (MPI_Request& request : requests) MPI_Request_free(&request);
}

#if MPI_VERSION >= 4
TEST(Initialisation, ACollectiveMadeBeforeHasTheSettings) {
  EXPECT_PST_KIND(PST_Match(&early_collective, MPI_STATUS_IGNORE), PST_ERROR_SETTING);
  expect_in_last_error("allreduce has no algorithm 'magic'");
  MPI_Request_free(&early_collective);
}
#endif

// What still owns something has nothing left to free, and requests go back to MPI alone.
TEST(Initialisation, OwnersMayOutliveTheLibrary) {
  MPI_Errhandler counting = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(count_call, &counting);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, counting);
  MPI_Errhandler_free(&counting);
  handler_calls = 0;
  int running = 0;
  {
    Buffer<int> buffer(10);
    Stream stream;
    Queue queue(stream);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Recv_init(buffer.data(), 1, MPI_INT, partner(), 4, MPI_COMM_WORLD, &request);
    const Request owner(request);
    ASSERT_PST(PST_Initialized(&running));
    EXPECT_EQ(running, 1);
    finalize();
  }
  EXPECT_EQ(handler_calls, 0);
  ASSERT_PST(PST_Initialized(&running));
  EXPECT_EQ(running, 0);
  expect_plain_mpi();
}

TEST(Initialisation, AfterMpiFinalize) {
  int running = 1;
  ASSERT_EQ(MPI_Finalize(), MPI_SUCCESS);
  expect_one_line(printed_by([] { EXPECT_EQ(PST_Queue_wait(PST_QUEUE_NULL), MPI_ERR_OTHER); }));
  expect_in_last_error("MPI_Finalize");
  expect_one_line(printed_by([] { EXPECT_EQ(PST_Init(), MPI_ERR_OTHER); }));
  MPI_Request none = MPI_REQUEST_NULL;
  expect_one_line(printed_by([&] { EXPECT_EQ(PST_Request_free(&none), MPI_ERR_OTHER); }));
  ASSERT_PST(PST_Initialized(&running));
  EXPECT_EQ(running, 0);
}

}  // namespace
}  // namespace penstock::test

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  GTEST_FLAG_SET(throw_on_failure, true);  // a rank that fails ends the job: the others wait for it
  return RUN_ALL_TESTS();
}
