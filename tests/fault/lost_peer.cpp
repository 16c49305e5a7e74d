// SPDX-License-Identifier: Apache-2.0
// G9: a peer that has been killed, stopped or has freed its half is an error of the queue, never a
// hang.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <string>

#include "fault/fault.hpp"

namespace penstock::fault {
namespace {

void raise_flag(void* flag) {
  static_cast<std::atomic<bool>*>(flag)->store(true);
}

// Start and wait to a peer that is dead: each may succeed, or say so if the queue knows by then.
void try_both(Lane& lane, MPI_Request& request) {
  int code = PST_Enqueue_start(lane.queue, &request);
  if (code == MPI_SUCCESS) code = PST_Enqueue_wait(lane.queue, &request);
  if (code != MPI_SUCCESS)
    require_kind(code, PST_ERROR_PEER_DEAD, "an enqueue call to a dead peer");
}

void await_stop(pid_t process) {
  for (std::string state; state != "T"; usleep(1000)) {
    std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
    std::string word;
    stat >> word >> word >> state;
  }
}

// The queue has failed: it says so, its stream goes on, and it stays so.
void expect_broken(Lane& lane, PST_Error kind, MPI_Request& request, std::atomic<bool>& passed) {
  require_kind(PST_Queue_wait(lane.queue), kind, "PST_Queue_wait");
  require(passed, "the stream has been released");
  require_kind(PST_Queue_wait(lane.queue), kind, "a second PST_Queue_wait");
  require_kind(PST_Enqueue_start(lane.queue, &request), kind, "a later start");
  int idle = 0;
  require_kind(PST_Queue_test(lane.queue, &idle), kind, "PST_Queue_test");
  require_kind(PST_Queue_free(&lane.queue), kind, "PST_Queue_free");
  require(lane.queue == PST_QUEUE_NULL, "PST_Queue_free sets the handle");
  require_success(PST_Stream_free(&lane.stream), "PST_Stream_free");
}

void lose_peer(const Job& job, void (*end)(const Job& job)) {
  // On one lane the survivor waits for a receive, on the other for a synchronous send.
  Duplex small(job, 100), large(job, 300000, true);
  small.match();
  large.match();
  Lane receiving, sending;
  small.run_epochs(receiving, 3);
  large.run_epochs(sending, 3);
  meet();
  if (job.rank == 1) end(job);
  std::atomic<bool> passed[2] = {false, false};
  try_both(receiving, small.receive);
  require_success(PST_Stream_launch(receiving.stream, raise_flag, &passed[0]), "PST_Stream_launch");
  try_both(sending, large.send);
  require_success(PST_Stream_launch(sending.stream, raise_flag, &passed[1]), "PST_Stream_launch");
  expect_broken(receiving, PST_ERROR_PEER_DEAD, small.receive, passed[0]);
  expect_broken(sending, PST_ERROR_PEER_DEAD, large.send, passed[1]);
  // Also on a new queue, for an end that has not been used since.
  Lane other;
  try_both(other, small.send);
  PST_Queue_wait(other.queue);  // a small standard send may have completed
  content_and_gone();
}

}  // namespace

void dead_peer(const Job& job) {
  lose_peer(job, [](const Job&) { die(); });
}

void dead_parent(const Job& job) {
  // A child with all that it has inherited, but for what the launcher reads, lives as long as the
  // survivor.
  lose_peer(job, [](const Job& of) {
    if (fork() != 0) die();
    for (const int descriptor : {0, 1, 2}) close(descriptor);
    while (kill(of.pids[0], 0) == 0) usleep(1000);
    _exit(0);
  });
}

void dead_peer_in_match(const Job& job) {
  // MPICH's launcher tells the survivors by SIGUSR1, which by default ends a process that has no
  // queue yet.
  signal(SIGUSR1, SIG_IGN);
  meet();
  if (job.rank == 1) die();
  Duplex pair(job, 100);
  require_kind(PST_Match(&pair.receive, MPI_STATUS_IGNORE), PST_ERROR_PEER_DEAD, "PST_Match");
  content_and_gone();
}

void dead_peer_at_end(const Job& job) {
  // Rank 1 dies while the survivor's letters to it still fill MPI's queues, and the survivor ends
  // Penstock.
  signal(SIGUSR1, SIG_IGN);
  constexpr int count = 2000;
  int value = 0;
  std::vector<MPI_Request> requests(count);
  for (int i = 0; i < count; ++i)
    require_success(MPI_Send_init(&value, 1, MPI_INT, job.peer, i, MPI_COMM_WORLD, &requests[i]),
                    "MPI_Send_init");
  meet();
  if (job.rank == 1) {
    raise(SIGSTOP);
    for (;;) pause();
  }
  MPI_Request matching;
  require_success(PST_Imatchall(count, requests.data(), &matching), "PST_Imatchall");
  kill(job.pids[1], SIGKILL);
  require_success(PST_Finalize(), "PST_Finalize");
  require(MPI_Wait(&matching, MPI_STATUS_IGNORE) != MPI_SUCCESS, "the matches have failed");
  content_and_gone();
}

void dead_sender_of_wildcard(const Job& job) {
  // Rank 1 offers two sends and dies; of one the receive is under way by then, of the other it is
  // not. Both receives take those of rank 2, which come later.
  signal(SIGUSR1, SIG_IGN);
  std::vector<std::byte> buffers[2] = {std::vector<std::byte>(100), std::vector<std::byte>(100)};
  MPI_Request requests[2], matching[2];
  for (int i = 0; i < 2; ++i) {
    const auto init = [&](auto make, int peer) {
      require_success(
          make(buffers[i].data(), 100, MPI_BYTE, peer, 50 + i, MPI_COMM_WORLD, &requests[i]),
          "init");
    };
    if (job.rank == 0)
      init(MPI_Recv_init, MPI_ANY_SOURCE);
    else
      init(MPI_Send_init, 0);
  }
  // Rank 1 reads no letters once it is stopped, so that it confirms nothing.
  int token = 0;
  if (job.rank == 1) {
    for (int i = 0; i < 2; ++i)
      require_success(PST_Imatch(&requests[i], &matching[i]), "PST_Imatch");
    MPI_Send(&token, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    raise(SIGSTOP);
    for (;;) pause();
  }
  if (job.rank == 0) {
    MPI_Recv(&token, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    await_stop(job.pids[1]);
    require_success(PST_Imatch(&requests[0], &matching[0]), "PST_Imatch");
    int done = 0;
    for (int look = 0; look < 1000; ++look) MPI_Test(&matching[0], &done, MPI_STATUS_IGNORE);
    require(done == 0, "no match before rank 1 has confirmed");
    kill(job.pids[1], SIGKILL);
    require_success(PST_Imatch(&requests[1], &matching[1]), "PST_Imatch");
    MPI_Send(&token, 1, MPI_INT, 2, 1, MPI_COMM_WORLD);
    require_success(MPI_Waitall(2, matching, MPI_STATUSES_IGNORE), "MPI_Waitall");
  } else {
    MPI_Recv(&token, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2; ++i) fill(buffers[i], i);
    require_success(PST_Matchall(2, requests, MPI_STATUSES_IGNORE), "PST_Matchall");
  }
  Lane lane;
  for (int i = 0; i < 2; ++i) {
    require_success(try_epoch(lane, requests[i]), "an epoch");
    MPI_Status status;
    require_success(PST_Match_status(requests[i], &status), "PST_Match_status");
    if (job.rank != 0) continue;
    require(status.MPI_SOURCE == 2, "the receive has taken the living sender");
    require(holds(buffers[i], 100, i), "the message of the living sender");
  }
  // Rank 2 lives until rank 0 has received.
  if (job.rank == 0)
    MPI_Send(&token, 1, MPI_INT, 2, 2, MPI_COMM_WORLD);
  else
    MPI_Recv(&token, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  content_and_gone();
}

void stopped_peer(const Job& job) {
  // Runs with PENSTOCK_TIMEOUT; the report on standard error is read by the driver.
  Duplex pair(job, 12345);
  pair.match();
  Lane lane;
  pair.run_epochs(lane, 2);
  meet();
  if (job.rank == 1) {
    raise(SIGSTOP);
    say("goes on");
  } else {
    std::atomic<bool> passed = false;
    lane.start(pair.receive);
    lane.wait(pair.receive);
    require_success(PST_Stream_launch(lane.stream, raise_flag, &passed), "PST_Stream_launch");
    expect_broken(lane, PST_ERROR_TIMEOUT, pair.receive, passed);
    kill(job.pids[1], SIGCONT);
  }
  // Ends by MPI_Finalize, which the broken pair must not hold up.
}

void fatal_handler(const Job& job) {
  // With MPI_ERRORS_ARE_FATAL a program that only synchronises its stream must not go on with
  // garbage: the job is aborted.
  Duplex pair(job, 12345);
  pair.match();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  Lane lane;  // a queue goes by the handler that it finds at its creation
  meet();
  if (job.rank == 1) {
    for (;;) pause();  // ended by the abort
  }
  lane.start(pair.receive);
  lane.wait(pair.receive);
  PST_Stream_synchronize(lane.stream);
  say("went on after the time-out");
  for (;;) pause();
}

void freed_peer(const Job& job) {
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{300000}}) {
    for (const bool receive : {true, false}) {
      Duplex pair(job, bytes, true);
      pair.match();
      Lane lane;
      pair.run_epochs(lane, 2);
      meet();
      if (job.rank == 1) {
        require_success(MPI_Request_free(&pair.send), "MPI_Request_free");
        require_success(MPI_Request_free(&pair.receive), "MPI_Request_free");
      }
      meet();
      if (job.rank == 0) {
        MPI_Request& request = receive ? pair.receive : pair.send;
        require_kind(try_epoch(lane, request), PST_ERROR_PEER_FREED, "an epoch whose peer is gone");
        PST_Queue_free(&lane.queue);
        require_success(MPI_Request_free(&pair.send), "MPI_Request_free");
        require_success(MPI_Request_free(&pair.receive), "MPI_Request_free");
      } else {
        require_success(PST_Queue_free(&lane.queue), "PST_Queue_free");
      }
      require_success(PST_Stream_free(&lane.stream), "PST_Stream_free");
      meet();
    }
  }
}

void match_time_out(const Job& job) {
  // Runs with PENSTOCK_TIMEOUT. The request stays unmatched, and can be matched once the peer takes
  // part.
  Duplex pair(job, 1000);
  if (job.rank == 0) {
    require_kind(PST_Match(&pair.receive, MPI_STATUS_IGNORE), PST_ERROR_TIMEOUT,
                 "PST_Match of a receive");
    int matched = 1;
    require_success(PST_Is_matched(pair.receive, &matched), "PST_Is_matched");
    require(matched == 0, "the receive stays unmatched");
    require_kind(PST_Match(&pair.send, MPI_STATUS_IGNORE), PST_ERROR_TIMEOUT,
                 "PST_Match of a send");
    require_success(PST_Is_matched(pair.send, &matched), "PST_Is_matched");
    require(matched == 0, "the send stays unmatched");
  }
  meet();
  pair.match();
  Lane lane;
  pair.run_epochs(lane, 3);
  require_success(MPI_Request_free(&pair.send), "MPI_Request_free");
  require_success(MPI_Request_free(&pair.receive), "MPI_Request_free");
  require_success(PST_Queue_free(&lane.queue), "PST_Queue_free");
  require_success(PST_Stream_free(&lane.stream), "PST_Stream_free");
}

}  // namespace penstock::fault
