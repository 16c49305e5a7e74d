// SPDX-License-Identifier: Apache-2.0
// G9: the host of rank 1 is cut off from the network, and may come back. What waits for it is
// reported within PENSTOCK_TIMEOUT, all else goes on. run_cut.py cuts, and tells rank 0.
#include <signal.h>

#include <chrono>
#include <deque>
#include <iostream>
#include <thread>

#include "fault/fault.hpp"

namespace penstock::fault {
namespace {

constexpr std::size_t small = 100, large = 300000;

// Says that it is time for the network to change, and returns when it has.
void await_change(const std::string& text) {
  say(text);
  std::string line;
  std::getline(std::cin, line);
}

// A word from another rank, without taking a core from the streams.
void await_word(int rank) {
  int word = 0, done = 0;
  MPI_Request request;
  MPI_Irecv(&word, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &request);
  while (done == 0) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

void give_word(int rank) {
  const int word = 1;
  MPI_Send(&word, 1, MPI_INT, rank, 1, MPI_COMM_WORLD);
}

Job pair_of(int own, int other) {
  Job pair;
  pair.rank = own;
  pair.peer = other;
  return pair;
}

// Messages both ways between ranks 0 and 1, in small and in large, each size on a queue of its own.
// The sends are synchronous: they cannot end while the network is cut.
struct Traffic {
  Duplex messages[2];
  Lane lanes[2];
  explicit Traffic(const Job& job) : messages{{job, small, true}, {job, large, true}} {
    for (int i = 0; i < 2; ++i) {
      messages[i].match();
      messages[i].run_epochs(lanes[i], 3);
    }
  }
  MPI_Request& request(int i) {
    return messages[i].job.rank == 0 ? messages[i].send : messages[i].receive;
  }

  // Enqueues enough for the network to be cut in the middle; if it is not, then what enqueue_last
  // adds is.
  void enqueue_many() {
    for (int i = 0; i < 2; ++i)
      for (int epoch = 0; epoch < 500; ++epoch)
        for (const auto verb : {&Lane::start, &Lane::wait})
          for (MPI_Request* const end : {&messages[i].send, &messages[i].receive})
            (lanes[i].*verb)(*end);
  }
  // From rank 0 to rank 1. Rank 0 calls it after the cut.
  void enqueue_last() {
    for (int i = 0; i < 2; ++i) {
      if (PST_Enqueue_start(lanes[i].queue, &request(i)) == MPI_SUCCESS)
        PST_Enqueue_wait(lanes[i].queue, &request(i));
    }
  }
  void expect_time_outs() {
    for (int i = 0; i < 2; ++i) {
      require_kind(PST_Queue_wait(lanes[i].queue), PST_ERROR_TIMEOUT, "PST_Queue_wait");
      require_kind(PST_Enqueue_start(lanes[i].queue, &request(i)), PST_ERROR_TIMEOUT,
                   "a later start");
    }
  }
  void expect_success() {
    for (int i = 0; i < 2; ++i) {
      require_success(PST_Queue_wait(lanes[i].queue), "PST_Queue_wait");
      messages[i].run_epochs(lanes[i], 20);
    }
  }
  void free() {
    for (int i = 0; i < 2; ++i) {
      PST_Queue_free(&lanes[i].queue);
      require_success(PST_Stream_free(&lanes[i].stream), "PST_Stream_free");
      require_success(MPI_Request_free(&messages[i].send), "MPI_Request_free");
      require_success(MPI_Request_free(&messages[i].receive), "MPI_Request_free");
    }
  }
};

// Rank 0 with a rank that stays in reach. Rank 0 comes when it is through with rank 1, so it says
// when.
struct Neighbour {
  Duplex messages[2];
  Lane lane;
  Neighbour(int own, int other)
      : messages{{pair_of(own, other), small}, {pair_of(own, other), large}} {
    if (own == 0)
      give_word(other);
    else
      await_word(0);
    for (Duplex& duplex : messages) duplex.match();
  }
  void run_epochs() {
    for (Duplex& duplex : messages) duplex.run_epochs(lane, 50);
  }
};

// Ranks 2 and 3 run epochs with rank 0 whenever it says so, and tell it when they are through.
void serve(const Job& job, int rounds) {
  Neighbour neighbour(job.rank, 0);
  for (int round = 0; round < rounds; ++round) {
    await_word(0);
    neighbour.run_epochs();
  }
  give_word(0);
  content_and_gone();
}

// Those that rank 0 still reaches: rank 2 on a third host, rank 3 on its own.
struct Neighbours {
  Neighbour neighbours[2] = {{0, 2}, {0, 3}};
  void run_epochs() {
    for (int i = 0; i < 2; ++i) {
      give_word(2 + i);
      neighbours[i].run_epochs();
    }
  }
  void part() {
    await_word(2);
    await_word(3);
  }
};

}  // namespace

void cut(const Job& job) {
  if (job.rank > 1) serve(job, 3);
  Traffic traffic(job);
  if (job.rank == 1) {
    traffic.enqueue_many();
    traffic.enqueue_last();
    traffic.expect_time_outs();
    content_and_gone();
  }
  Neighbours neighbours;
  neighbours.run_epochs();
  traffic.enqueue_many();
  await_change("runs");
  traffic.enqueue_last();
  neighbours.run_epochs();  // while the queues to rank 1 wait
  traffic.expect_time_outs();
  neighbours.run_epochs();  // after they have failed
  neighbours.part();
  content_and_gone();
}

void cut_before_match(const Job& job) {
  if (job.rank > 1) serve(job, 1);
  // MPICH's launcher tells of ranks that have ended by SIGUSR1, which ends a process that has no
  // queue yet.
  signal(SIGUSR1, SIG_IGN);
  Duplex messages(job, small);
  // Rank 1 is through with what all ranks do together before it is cut off.
  if (job.rank == 1) give_word(0);
  if (job.rank == 0) {
    await_word(1);
    await_change("is ready");
  }
  // The two ends of a message at a time: with the network they would find each other.
  MPI_Request* const first = job.rank == 0 ? &messages.send : &messages.receive;
  MPI_Request* const second = job.rank == 0 ? &messages.receive : &messages.send;
  for (MPI_Request* const end : {first, second}) {
    require_kind(PST_Match(end, MPI_STATUS_IGNORE), PST_ERROR_TIMEOUT, "PST_Match");
    int matched = 1;
    require_success(PST_Is_matched(*end, &matched), "PST_Is_matched");
    require(matched == 0, "the request stays unmatched");
  }
  if (job.rank == 0) {
    Neighbours neighbours;
    neighbours.run_epochs();
    neighbours.part();
  }
  content_and_gone();
}

// Both ranks have matched, and rank 0 has said so and seen what follows. Nothing has been sent yet.
void await_change_after_match(const Job& job) {
  if (job.rank == 0) {
    await_word(1);
    await_change("has matched");
    give_word(1);
  } else {
    give_word(0);
    await_word(0);
  }
}

// The messages' network is lost when the pairs are matched and nothing has been sent: MPI has
// another one here. `kind`: what rank 0 may be told instead of a time-out. Rank 1 learns nothing.
void lose_peer_before_message(const Job& job, PST_Error kind) {
  if (job.rank > 1) serve(job, 2);
  Duplex messages[2] = {{job, small, true}, {job, large, true}};
  Lane lanes[2];
  for (Duplex& duplex : messages) duplex.match();
  await_change_after_match(job);
  // The first start may fail its queue before the last call.
  for (int i = 0; i < 2; ++i) {
    MPI_Request both[2] = {messages[i].send, messages[i].receive};
    require_success(PST_Enqueue_startall(lanes[i].queue, 2, both), "startall");
    PST_Enqueue_waitall(lanes[i].queue, 2, both);
  }
  const auto expect_failures = [&](PST_Error other) {
    for (Lane& lane : lanes) {
      const int code = PST_Queue_wait(lane.queue);
      PST_Error found = PST_ERROR_NONE;
      PST_Error_kind(code, &found);
      require_kind(code, found == other ? other : PST_ERROR_TIMEOUT, "PST_Queue_wait");
    }
  };
  if (job.rank == 0) {
    Neighbours neighbours;
    neighbours.run_epochs();  // while the queues to rank 1 wait
    expect_failures(kind);
    neighbours.run_epochs();
    neighbours.part();
  } else {
    expect_failures(PST_ERROR_TIMEOUT);
  }
  content_and_gone();
}

void cut_before_message(const Job& job) {
  lose_peer_before_message(job, PST_ERROR_TIMEOUT);
}

// The network is away for the first messages and comes back before anybody has lost patience:
// nothing has been lost.
void cut_for_first_message(const Job& job) {
  Duplex messages[2] = {{job, small, true}, {job, large, true}};
  Lane lanes[2];
  for (Duplex& duplex : messages) duplex.match();
  await_change_after_match(job);
  for (int i = 0; i < 2; ++i) {
    fill(messages[i].out, 0);
    MPI_Request both[2] = {messages[i].send, messages[i].receive};
    require_success(PST_Enqueue_startall(lanes[i].queue, 2, both), "startall");
    require_success(PST_Enqueue_waitall(lanes[i].queue, 2, both), "waitall");
  }
  if (job.rank == 0) await_change("waits");
  for (int i = 0; i < 2; ++i) {
    require_success(PST_Queue_wait(lanes[i].queue), "PST_Queue_wait");
    require(holds(messages[i].in, messages[i].in.size(), 0), "the first message");
    messages[i].run_epochs(lanes[i], 20);
  }
}

// Many messages of one queue wait for a host that is cut off: they are let go together.
void cut_with_many(const Job& job) {
  constexpr std::size_t count = 8;
  std::deque<Duplex> messages;
  std::vector<MPI_Request> ends;
  for (std::size_t i = 0; i < count; ++i) {
    Duplex& duplex = messages.emplace_back(job, i % 2 == 0 ? small : large, true);
    duplex.match();
    ends.insert(ends.end(), {duplex.send, duplex.receive});
  }
  await_change_after_match(job);
  Lane lane;
  require_success(PST_Enqueue_runall(lane.queue, static_cast<int>(ends.size()), ends.data()),
                  "runall");
  require_kind(PST_Queue_wait(lane.queue), PST_ERROR_TIMEOUT, "PST_Queue_wait");
  content_and_gone();
}

void no_route(const Job& job) {
  lose_peer_before_message(job, PST_ERROR_TRANSPORT);
}

// TCP asks ever more rarely for a host that has not answered, so the first new pairs may time out
// too.
void await_network(const Job& job) {
  for (int failed = 1; failed != 0;) {
    Duplex probe(job, small, true);
    Lane lane;
    probe.match();
    MPI_Request both[2] = {probe.send, probe.receive};
    failed = PST_Enqueue_runall(lane.queue, 2, both) != MPI_SUCCESS ||
             PST_Queue_wait(lane.queue) != MPI_SUCCESS;
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    PST_Queue_free(&lane.queue);
    require_success(PST_Stream_free(&lane.stream), "PST_Stream_free");
    for (MPI_Request* const end : {&probe.send, &probe.receive})
      require_success(MPI_Request_free(end), "MPI_Request_free");
  }
}

// The network comes back when both ends have reported: the failed pairs stay failed, new ones work.
void mended_late(const Job& job) {
  Traffic traffic(job);
  traffic.enqueue_many();
  if (job.rank == 0) await_change("runs");
  traffic.enqueue_last();
  traffic.expect_time_outs();
  traffic.free();
  if (job.rank == 0)
    await_change("has reported");
  else
    say("has reported");
  meet();
  await_network(job);
  Traffic again(job);
  again.expect_success();
  again.free();
}

// The network comes back before anybody has lost patience: nothing has been lost.
void mended_early(const Job& job) {
  Traffic traffic(job);
  traffic.enqueue_many();
  if (job.rank == 0) await_change("runs");
  traffic.enqueue_last();
  if (job.rank == 0) await_change("waits");
  traffic.expect_success();
  traffic.free();
}

std::map<std::string, Scenario> scenarios() {
  return {{"cut", {cut, 4}},
          {"cut_before_match", {cut_before_match, 4}},
          {"cut_before_message", {cut_before_message, 4}},
          {"cut_for_first_message", {cut_for_first_message}},
          {"cut_with_many", {cut_with_many}},
          {"no_route", {no_route, 4}},
          {"mended_late", {mended_late}},
          {"mended_early", {mended_early}}};
}

}  // namespace penstock::fault
