// SPDX-License-Identifier: Apache-2.0
// R20: a peer of a window that dies or goes silent is an error of the queue that waits for it,
// never a hang, and nothing that did not come is taken for good.
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <thread>

#include "fault/fault.hpp"

namespace penstock::fault {
namespace {

constexpr int numbers = 20000;  // so many move from memory to memory, once the target has posted
constexpr int few = 4;
constexpr int epochs = 200;

struct Window {
  std::int64_t* base = nullptr;
  MPI_Win win = MPI_WIN_NULL;
  MPI_Group peer = MPI_GROUP_NULL;
  std::vector<std::int64_t> source = std::vector<std::int64_t>(numbers, 1);

  explicit Window(const Job& job) {
    require_success(PST_Win_allocate(numbers * static_cast<MPI_Aint>(sizeof *base), sizeof *base,
                                     MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win),
                    "PST_Win_allocate");
    MPI_Group world = MPI_GROUP_NULL;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &job.peer, &peer);
  }
  int post(Lane& lane) const { return PST_Win_post_stream(peer, 0, win, lane.queue); }
  int complete(Lane& lane, const Job& job, int count) {
    int code = PST_Win_start(peer, 0, win);
    if (code == MPI_SUCCESS)
      code = PST_Put(source.data(), count, MPI_INT64_T, job.peer, 0, count, MPI_INT64_T, win);
    return code == MPI_SUCCESS ? PST_Win_complete_stream(win, lane.queue) : code;
  }
  // The access epoch is the stream's, and nothing is moved in it.
  int open(Lane& lane) const { return PST_Win_start_stream(peer, 0, win, lane.queue); }
  int open_and_complete(Lane& lane) const {
    const int code = open(lane);
    return code == MPI_SUCCESS ? PST_Win_complete_stream(win, lane.queue) : code;
  }
  int wait(Lane& lane) const { return PST_Win_wait_stream(win, lane.queue); }
};

// Whether streams store into the memory of others: where MPI moves they do not.
bool stores_served() {
  const char* const transport = std::getenv("PENSTOCK_TRANSPORT");
  return transport == nullptr || std::string(transport).find("peer") != std::string::npos;
}

// Calls that may be the first to hear of it.
void may_fail(int code, PST_Error kind, const char* what) {
  if (code != MPI_SUCCESS) require_kind(code, kind, what);
}

// A stream that is to store waits for a post that never comes.
void wait_for_a_silent_post(const Job& job) {
  if (!stores_served()) return;
  Window window(job);
  if (job.rank == 0) {
    Lane lane;
    require_success(window.open(lane), "PST_Win_start_stream");
    require_kind(PST_Queue_wait(lane.queue), PST_ERROR_TIMEOUT, "PST_Queue_wait (start)");
    char told[1024] = "";
    PST_Last_error(told, sizeof told);
    require(std::string(told).find("access to rank 1") != std::string::npos &&
                std::string(told).find("post") != std::string::npos,
            std::string("the start's error names rank and what is missing: ") + told);
    require(PST_Win_complete_stream(window.win, lane.queue) != MPI_SUCCESS,
            "a complete on a queue that has failed succeeds");
  }
  meet();
  require_success(MPI_Win_free(&window.win), "MPI_Win_free");
}

}  // namespace

// Rank 1 dies on its stream: in the step that PENSTOCK_TEST_STEP says of an epoch in the middle.
void dead_window_peer(const Job& job) {
  const char* const text = std::getenv("PENSTOCK_TEST_STEP");
  const int step = text == nullptr ? 0 : std::atoi(text);
  Window window(job);
  Lane lane;
  std::atomic<bool> passed = false;
  const auto maybe_die = [&](int epoch, int at) {
    if (job.rank == 1 && epoch == epochs / 2 && at == step)
      require_success(PST_Stream_launch(lane.stream, die_on_stream, nullptr), "launch");
  };
  int code = MPI_SUCCESS;
  for (int epoch = 0; epoch < epochs && code == MPI_SUCCESS; ++epoch) {
    maybe_die(epoch, 0);
    code = window.post(lane);
    maybe_die(epoch, 1);
    if (code == MPI_SUCCESS)
      code = epoch % 3 == 2 && stores_served()
                 ? window.open_and_complete(lane)
                 : window.complete(lane, job, epoch % 3 == 0 ? numbers : few);
    maybe_die(epoch, 2);
    if (code == MPI_SUCCESS) code = window.wait(lane);
  }
  require_success(PST_Stream_launch(lane.stream, set_passed, &passed), "PST_Stream_launch");
  may_fail(code, PST_ERROR_PEER_DEAD, "an epoch with a dead peer");
  require_kind(PST_Queue_wait(lane.queue), PST_ERROR_PEER_DEAD, "PST_Queue_wait");
  require(passed, "the stream has been released");
  // Another queue hears of it, too: of a large complete, which waits for a post.
  Lane other;
  code = window.complete(other, job, numbers);
  if (code == MPI_SUCCESS) code = PST_Queue_wait(other.queue);
  require(code != MPI_SUCCESS, "a complete towards a dead peer succeeds");
  content_and_gone();
}

// Rank 1 never completes and never posts: PENSTOCK_TIMEOUT ends both waits, and tells the window,
// the role, the rank and the epoch.
void silent_window_peer(const Job& job) {
  Window window(job);
  if (job.rank == 0) {
    Lane exposing, accessing;
    require_success(window.post(exposing), "post");
    require_success(window.wait(exposing), "wait");
    require_success(window.complete(accessing, job, numbers), "complete");
    require_kind(PST_Queue_wait(exposing.queue), PST_ERROR_TIMEOUT, "PST_Queue_wait (exposure)");
    char told[1024] = "";
    PST_Last_error(told, sizeof told);
    require(std::string(told).find("exposure to rank 1") != std::string::npos &&
                std::string(told).find("epoch 1") != std::string::npos,
            std::string("the exposure's error names rank and epoch: ") + told);
    require_kind(PST_Queue_wait(accessing.queue), PST_ERROR_TIMEOUT, "PST_Queue_wait (access)");
    PST_Last_error(told, sizeof told);
    require(std::string(told).find("access to rank 1") != std::string::npos &&
                std::string(told).find("post") != std::string::npos,
            std::string("the access's error names rank and what is missing: ") + told);
  }
  meet();
  if (job.rank == 1) {  // hears that the other has given up, at once
    Lane lane;
    int code = window.post(lane);
    if (code == MPI_SUCCESS) code = window.wait(lane);
    if (code == MPI_SUCCESS) code = PST_Queue_wait(lane.queue);
    require_kind(code, PST_ERROR_PEER_FREED, "an exposure to a rank that has given up");
  }
  meet();
  require_success(MPI_Win_free(&window.win), "MPI_Win_free");  // though an epoch is open in it
  wait_for_a_silent_post(job);
}

// Rank 1 posts and is stopped. PENSTOCK_TIMEOUT ends the other one's complete, unless all has moved
// without rank 1, and its buffer is used again. Rank 1 goes on, and hears of that: what was not
// moved in time is no success.
void stopped_window_peer(const Job& job) {
  Window window(job);
  Lane lane;
  if (job.rank == 1) {
    std::fill_n(window.base, numbers, 0);
    std::atomic<bool> posted = false;
    require_success(window.post(lane), "post");
    require_success(PST_Stream_launch(lane.stream, set_passed, &posted), "launch");
    while (!posted) std::this_thread::yield();
    meet();
    raise(SIGSTOP);
    int code = window.wait(lane);
    if (code == MPI_SUCCESS) code = PST_Queue_wait(lane.queue);
    if (code != MPI_SUCCESS) require_kind(code, PST_ERROR_PEER_FREED, "an exposure given up");
    require(code != MPI_SUCCESS || std::count(window.base, window.base + numbers, 1) == numbers,
            "numbers of a later use of the buffer");
  } else {
    meet();
    int code = window.complete(lane, job, numbers);
    if (code == MPI_SUCCESS) code = PST_Queue_wait(lane.queue);
    may_fail(code, PST_ERROR_TIMEOUT, "a complete towards a stopped rank");
    std::fill(window.source.begin(), window.source.end(), 2);
  }
  MPI_Request met = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &met);
  for (int all_here = 0; all_here == 0; std::this_thread::yield()) {
    if (job.rank == 0) kill(job.pids[1], SIGCONT);  // which may not have been stopped yet
    MPI_Test(&met, &all_here, MPI_STATUS_IGNORE);
  }
  require_success(MPI_Win_free(&window.win), "MPI_Win_free");
}

}  // namespace penstock::fault
