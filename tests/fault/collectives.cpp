// SPDX-License-Identifier: Apache-2.0
// A member that dies, or does not come, is an error of the collective on all others, never a hang.
#include <atomic>
#include <cstdlib>
#include <string>
#include <vector>

#include "fault/fault.hpp"

namespace penstock::fault {
namespace {

MPI_Request made(const char* algorithm, std::vector<int>& data) {
  MPI_Info info = MPI_INFO_NULL;
  if (algorithm != nullptr) {
    MPI_Info_create(&info);
    MPI_Info_set(info, "penstock_algorithm", algorithm);
  }
  const auto count = static_cast<int>(data.size());
  const bool puts = algorithm != nullptr && std::string(algorithm).starts_with("put-");
  MPI_Request request;
  if (puts) {
    int ranks = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    require_success(PST_Alltoall_init(MPI_IN_PLACE, count / ranks, MPI_INT, data.data(),
                                      count / ranks, MPI_INT, MPI_COMM_WORLD, info, &request),
                    "PST_Alltoall_init");
  } else {
    require_success(PST_Allreduce_init(MPI_IN_PLACE, data.data(), count, MPI_INT, MPI_SUM,
                                       MPI_COMM_WORLD, info, &request),
                    "PST_Allreduce_init");
  }
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  return request;
}

// By the algorithm of PENSTOCK_TEST_ALGORITHM: an allreduce, or an alltoall by puts.
MPI_Request collective(std::vector<int>& data) {
  return made(std::getenv("PENSTOCK_TEST_ALGORITHM"), data);
}

}  // namespace

// Rank 1 dies on its stream after some epochs, or before it joins the match of another.
void dead_member(const Job& job) {
  Lane lane;
  std::vector<int> data(1000);
  MPI_Request request = collective(data), second = collective(data);
  require_success(PST_Match(&request, MPI_STATUS_IGNORE), "PST_Match");
  for (int i = 0; i < 50; ++i)
    require_success(PST_Enqueue_run(lane.queue, &request), "PST_Enqueue_run");
  require_success(PST_Queue_wait(lane.queue), "PST_Queue_wait");
  if (job.rank == 1) {
    require_success(PST_Stream_launch(lane.stream, die_on_stream, nullptr), "launch");
    PST_Queue_wait(lane.queue);
  }
  std::atomic<bool> passed = false;
  require_success(PST_Enqueue_run(lane.queue, &request), "PST_Enqueue_run");
  require_success(PST_Stream_launch(lane.stream, set_passed, &passed), "PST_Stream_launch");
  require_kind(PST_Queue_wait(lane.queue), PST_ERROR_PEER_DEAD, "PST_Queue_wait");
  require_success(PST_Stream_synchronize(lane.stream), "PST_Stream_synchronize");
  require(passed, "the stream has been released");
  require_kind(PST_Match(&second, MPI_STATUS_IGNORE), PST_ERROR_PEER_DEAD, "PST_Match");
  require(told("rank 1 of MPI_COMM_WORLD has ended"), "the error names rank 1");
  void* mine = nullptr;
  require_kind(PST_Team_memory(data.data(), 8, 0, MPI_COMM_WORLD, &mine), PST_ERROR_PEER_DEAD,
               "PST_Team_memory");
  require(told("the process of rank 1 has ended"), "the error names rank 1");
  require_success(PST_Request_free(&request), "PST_Request_free");
  require_success(PST_Request_free(&second), "PST_Request_free");
  content_and_gone();
}

// Rank 0 is in a call that is collective, or about to make it, when rank 1 dies. What comes
// afterwards says so as well.
void dead_in_collective_call(const Job& job) {
  if (job.rank == 1) die();
  std::byte data[8];
  void* mine = nullptr;
  require_kind(PST_Team_memory(data, sizeof data, 0, MPI_COMM_WORLD, &mine), PST_ERROR_PEER_DEAD,
               "PST_Team_memory");
  require(told("the process of rank 1 has ended"), "the error names rank 1");
  MPI_Win window = MPI_WIN_NULL;
  require_kind(PST_Win_create(data, sizeof data, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window),
               PST_ERROR_PEER_DEAD, "PST_Win_create");
  content_and_gone();
}

// Rank 1 comes too late for the match of rank 0, and then rank 0 for that of rank 1. Together they
// match what both hand over again.
void silent_member(const Job& job) {
  Lane lane;
  std::vector<int> data(3, 1);
  MPI_Request request = collective(data);
  for (int late = 0; late < 2; ++late) {
    if (job.rank != late) {
      require_kind(PST_Match(&request, MPI_STATUS_IGNORE), PST_ERROR_TIMEOUT, "PST_Match");
      if (job.rank == 0) require(told("rank 1 of MPI_COMM_WORLD"), "the error names rank 1");
    }
    meet();
  }
  require_success(PST_Match(&request, MPI_STATUS_IGNORE), "PST_Match");
  require_success(PST_Enqueue_run(lane.queue, &request), "PST_Enqueue_run");
  require_success(PST_Queue_wait(lane.queue), "PST_Queue_wait");
  require(data[2] == 2, "the sum");
  meet();
  // Rank 1 does not start: the wait of rank 0 ends with PENSTOCK_TIMEOUT.
  if (job.rank == 0) {
    require_success(PST_Enqueue_run(lane.queue, &request), "PST_Enqueue_run");
    require_kind(PST_Queue_wait(lane.queue), PST_ERROR_TIMEOUT, "PST_Queue_wait");
    require(told("allreduce 1"), "the error names the collective");
  }
  meet();
  if (job.rank == 1) require_kind(try_epoch(lane, request), PST_ERROR_PEER_FREED, "a later epoch");
  require_success(PST_Request_free(&request), "PST_Request_free");
}

}  // namespace penstock::fault
