// SPDX-License-Identifier: Apache-2.0
// The report of SIGUSR1, jobs that are killed from outside, little shared memory, idle processes.
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <iostream>
#include <thread>
#include <vector>

#include "fault/fault.hpp"

namespace penstock::fault {

void report(const Job& job) {
  // Rank 0 waits for a message and asks itself for the report; the driver answers with a line once
  // it has read it.
  Duplex pair(job, 12345);
  pair.match();
  Lane lane;
  pair.run_epochs(lane, 2);
  meet();
  if (job.rank == 0) {
    lane.start(pair.receive);
    lane.wait(pair.receive);
    say("asks");
    for (std::string line; line != "go";) {
      // Again and again: the first one may come before the stream is inside the wait.
      kill(getpid(), SIGUSR1);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      fd_set ready;
      FD_ZERO(&ready);
      FD_SET(0, &ready);
      timeval none{0, 0};
      if (select(1, &ready, nullptr, nullptr, &none) > 0 && !std::getline(std::cin, line)) break;
    }
  }
  meet();
  if (job.rank == 1) {
    fill(pair.out, 3);
    lane.start(pair.send);
    lane.wait(pair.send);
  }
  require_success(PST_Queue_wait(lane.queue), "PST_Queue_wait");
  if (job.rank == 0) require(holds(pair.in, 12345, 3), "the message after the report");
}

void own_signal_handler(const Job& job) {
  static std::atomic<int> caught = 0;
  signal(SIGUSR1, [](int) { ++caught; });
  Duplex pair(job, 100);
  pair.match();
  Lane lane;
  pair.run_epochs(lane, 2);
  raise(SIGUSR1);
  require(caught == 1, "the program's own handler stays");
}

void traffic(const Job& job) {
  // Runs until it is killed.
  std::byte* memory = nullptr;
  require_success(PST_Alloc_mem(1 << 20, MPI_INFO_NULL, &memory), "PST_Alloc_mem");
  Duplex small(job, 100), large(job, 300000);
  small.match();
  large.match();
  Lane lane;
  say("pid " + std::to_string(getpid()));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (int round = 0; std::chrono::steady_clock::now() < end; ++round) {
    small.run_epochs(lane, 20);
    large.run_epochs(lane, 5);
    if (round == 5) say("runs");
  }
}

void small_memory(const Job& job) {
  // More memory than there is shared memory: PST_Alloc_mem gives ordinary memory then, and every
  // message stays right.
  constexpr int count = 24;
  constexpr int bytes = 1 << 20;
  std::vector<std::byte*> memory(count, nullptr);
  for (std::byte*& base : memory)
    require_success(PST_Alloc_mem(bytes, MPI_INFO_NULL, &base), "PST_Alloc_mem");
  Lane lane;
  std::vector<MPI_Request> requests(count);
  for (int i = 0; i < count; ++i) {
    const int length = i % 2 == 0 ? bytes : 5000;
    const bool sends = (i % 4 < 2) == (job.rank == 0);
    const auto index = static_cast<std::size_t>(i);
    if (sends) {
      const std::vector<std::byte> data = message(static_cast<std::size_t>(length), i);
      std::copy(data.begin(), data.end(), memory[index]);
      MPI_Send_init(memory[index], length, MPI_BYTE, job.peer, i, MPI_COMM_WORLD, &requests[index]);
    } else {
      MPI_Recv_init(memory[index], length, MPI_BYTE, job.peer, i, MPI_COMM_WORLD, &requests[index]);
    }
  }
  const int code = PST_Matchall(count, requests.data(), MPI_STATUSES_IGNORE);
  if (code != MPI_SUCCESS) {
    // An error is an answer too, if it names the cause; a wrong message or a fault of the bus is
    // not.
    PST_Error kind = PST_ERROR_NONE;
    PST_Error_kind(code, &kind);
    char text[2048] = "";
    PST_Last_error(text, sizeof text);
    require(kind == PST_ERROR_RESOURCES || kind == PST_ERROR_TRANSPORT,
            std::string("match: ") + text);
    say(std::string("refused: ") + text);
    content_and_gone();
  }
  for (int epoch = 0; epoch < 3; ++epoch) {
    require_success(PST_Enqueue_startall(lane.queue, count, requests.data()), "startall");
    require_success(PST_Enqueue_waitall(lane.queue, count, requests.data()), "waitall");
  }
  require_success(PST_Queue_wait(lane.queue), "PST_Queue_wait");
  int over_peer = 0;
  for (int i = 0; i < count; ++i) {
    const auto length = static_cast<std::size_t>(i % 2 == 0 ? bytes : 5000);
    const std::vector<std::byte> data = message(length, i);
    require(std::equal(data.begin(), data.end(), memory[static_cast<std::size_t>(i)]),
            "message " + std::to_string(i));
    char name[32] = "";
    require_success(PST_Request_transport(requests[static_cast<std::size_t>(i)], name, sizeof name),
                    "transport");
    over_peer += std::string(name) == "peer";
  }
  say("over peer: " + std::to_string(over_peer) + " of " + std::to_string(count));
  for (MPI_Request& request : requests)
    require_success(MPI_Request_free(&request), "MPI_Request_free");
  for (std::byte* base : memory) require_success(PST_Free_mem(base), "PST_Free_mem");
  require_success(PST_Queue_free(&lane.queue), "PST_Queue_free");
  require_success(PST_Stream_free(&lane.stream), "PST_Stream_free");
  meet();
  content_and_gone();  // over sockets MPICH's MPI_Finalize does not always end
}

// Of failing_new.cpp, where it has been preloaded.
extern "C" {
[[gnu::weak]] void failing_new_begin();
[[gnu::weak]] void failing_new_one(long number);
[[gnu::weak]] long failing_new_calls();
}

// Any call may fail, and says so; what has not failed is right, and the process gets to its end.
void no_memory(const Job& job) {
  if (failing_new_begin == nullptr) return say("skipped: failing_new is not preloaded");
  failing_new_begin();
  int failed = 0;
  const auto count = [&failed](int code) { failed += code != MPI_SUCCESS; };
  PST_Stream stream = PST_STREAM_NULL;
  PST_Queue queue = PST_QUEUE_NULL;
  count(PST_Stream_create(&stream));
  count(PST_Queue_init(&queue, PST_QUEUE_HOST, &stream));
  Duplex small(job, 100), large(job, 300000);
  fill(small.out, 1);
  fill(large.out, 1);
  static int total = 1;
  MPI_Request sum = MPI_REQUEST_NULL;
  count(PST_Allreduce_init(MPI_IN_PLACE, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                           &sum));
  MPI_Request requests[] = {small.send, small.receive, large.send, large.receive, sum};
  const int made = sum == MPI_REQUEST_NULL ? 4 : 5;
  count(PST_Matchall(made, requests, MPI_STATUSES_IGNORE));
  for (int epoch = 0; epoch < 5; ++epoch) {
    count(PST_Enqueue_startall(queue, made, requests));
    count(PST_Enqueue_waitall(queue, made, requests));
  }
  count(PST_Queue_wait(queue));
  if (failed == 0)
    require(holds(small.in, 100, 1) && holds(large.in, 300000, 1) && total == 32,
            "the messages, and the sum of two ranks doubled five times");
  // Nobody sends to it: MPI_Finalize gives the match up.
  static int word = 0;
  MPI_Request receive = MPI_REQUEST_NULL, matching = MPI_REQUEST_NULL;
  MPI_Recv_init(&word, 1, MPI_INT, job.peer, 99, MPI_COMM_WORLD, &receive);
  count(PST_Imatch(&receive, &matching));
  say(std::to_string(failed) + " calls have failed, of " + std::to_string(failing_new_calls()) +
      " allocations");
}

// Every allocation of a call in its turn: where the call fails it has put nothing, as a partition
// that is put twice would be an error of the queue. The stream is held, so that the commands of the
// list, of which no two are neighbours, need memory.
void no_memory_for_list(const Job& job) {
  if (failing_new_one == nullptr) return say("skipped: failing_new is not preloaded");
  constexpr int count = 4000;
  static std::vector<int> data(count, -1), list;
  MPI_Request channel = MPI_REQUEST_NULL;
  require_success(job.rank == 0 ? PST_Channel_send_init(data.data(), count, MPI_INT, 1, job.peer, 1,
                                                        MPI_COMM_WORLD, MPI_INFO_NULL, &channel)
                                : PST_Channel_recv_init(data.data(), count, MPI_INT, 1, job.peer, 1,
                                                        MPI_COMM_WORLD, MPI_INFO_NULL, &channel),
                  "PST_Channel_*_init");
  require_success(PST_Match(&channel, MPI_STATUS_IGNORE), "PST_Match");
  for (int i = count - 1; i > 0; i -= 2) list.push_back(i);
  Lane lane;
  if (job.rank == 0) {
    for (int i = 0; i < count; ++i) data[static_cast<std::size_t>(i)] = i;
    require_success(PST_Pready(lane.queue, 0, channel), "PST_Pready");
    std::atomic<bool> go = false;
    require_success(
        PST_Stream_launch(
            lane.stream, [](void* flag) { static_cast<std::atomic<bool>*>(flag)->wait(false); },
            &go),
        "PST_Stream_launch");
    int failed = 0;
    for (int code = MPI_ERR_OTHER; code != MPI_SUCCESS; failed += code != MPI_SUCCESS) {
      failing_new_one(failed);
      code = PST_Pready_list(lane.queue, count / 2, list.data(), channel);
      if (code != MPI_SUCCESS) require_kind(code, PST_ERROR_RESOURCES, "PST_Pready_list");
    }
    failing_new_one(-1);  // none any more
    say(std::to_string(failed) + " calls have failed");
    require(failed > 2, "a list, its ranges and room for commands are allocations");
    go = true;
    go.notify_one();
    for (const int each : list)
      require_success(PST_Channel_put_wait(lane.queue, channel, each, 1), "PST_Channel_put_wait");
  } else {
    for (const int each : list)
      require_success(PST_Channel_wait(lane.queue, channel, each, 1), "PST_Channel_wait");
  }
  require_success(PST_Queue_wait(lane.queue), "PST_Queue_wait");
  for (const int each : list)
    require(data[static_cast<std::size_t>(each)] == each, "partition " + std::to_string(each));
  meet();
  require_success(PST_Request_free(&channel), "PST_Request_free");
}

// Sanitizers make each of the few looks of an idle process several times as dear (over ofi 1.4
// to 1.7 % were seen).
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double most_idle_share = 0.05;
#else
constexpr double most_idle_share = 0.01;
#endif

void idle(const Job& job) {
  // Measures processor time: an idle process with queues uses less than one per cent of a core.
  std::vector<Lane> lanes(8);
  Duplex pair(job, 1000);
  pair.match();
  for (Lane& lane : lanes) pair.run_epochs(lane, 3);
  meet();
  const auto used = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
  };
  // The first windows may still hold waits that spin down, for as long as a busy machine lets that
  // take.
  constexpr int windows = 20;
  double share = 1;
  for (int window = 0; window < windows && share >= most_idle_share; ++window) {
    const double before = used();
    std::this_thread::sleep_for(std::chrono::seconds(1));
    share = used() - before;
  }
  say("used " + std::to_string(share * 100) + " % of a core");
  require(share < most_idle_share, "an idle process uses less than 1 % of a core");
  meet();
}

}  // namespace penstock::fault
