// SPDX-License-Identifier: Apache-2.0
#include "fault/fault.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace penstock::fault {
namespace {

int own_rank = 0;

std::string describe(int code) {
  PST_Error kind = PST_ERROR_INTERNAL;
  PST_Error_kind(code, &kind);
  char text[2048] = "";
  PST_Last_error(text, sizeof text);
  return "kind " + std::to_string(kind) + ", last error: " + text;
}

}  // namespace

std::map<std::string, Scenario> scenarios() {
  return {{"dead_peer", {dead_peer}},
          {"dead_peer_in_match", {dead_peer_in_match}},
          {"dead_sender_of_wildcard", {dead_sender_of_wildcard, 3}},
          {"stopped_peer", {stopped_peer}},
          {"fatal_handler", {fatal_handler}},
          {"released_sender", {released_sender}},
          {"released_small_sender", {released_small_sender}},
          {"released_receiver", {released_receiver}},
          {"freed_peer", {freed_peer}},
          {"match_time_out", {match_time_out}},
          {"report", {report}},
          {"own_signal_handler", {own_signal_handler}},
          {"traffic", {traffic}},
          {"small_memory", {small_memory}},
          {"idle", {idle}}};
}

void say(const std::string& text) {
  std::printf("rank %d %s\n", own_rank, text.c_str());
  std::fflush(stdout);
}

void require(bool condition, const std::string& text) {
  if (condition) return;
  say("FAILED: " + text);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

void require_success(int code, const std::string& what) {
  if (code != MPI_SUCCESS) require(false, what + " should succeed: " + describe(code));
}

void require_kind(int code, PST_Error kind, const std::string& what) {
  PST_Error found = PST_ERROR_NONE;
  PST_Error_kind(code, &found);
  if (found != kind) require(false, what + " should be of kind " + std::to_string(kind) + ": " + describe(code));
}

void content_and_gone() {
  say("content");
  _exit(0);
}

void meet() {
  MPI_Request request;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  for (int done = 0; done == 0;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

void die() {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

std::vector<std::byte> message(std::size_t bytes, int epoch) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    data[i] = static_cast<std::byte>(i * 7 + i / 251 + static_cast<std::size_t>(epoch) * 31);
  }
  return data;
}

void fill(std::vector<std::byte>& buffer, int epoch) {
  const std::vector<std::byte> data = message(buffer.size(), epoch);
  std::copy(data.begin(), data.end(), buffer.begin());
}

bool holds(const std::vector<std::byte>& buffer, std::size_t bytes, int epoch) {
  const std::vector<std::byte> expected = message(bytes, epoch);
  return std::equal(expected.begin(), expected.end(), buffer.begin());
}

Lane::Lane() {
  require_success(PST_Stream_create(&stream), "PST_Stream_create");
  require_success(PST_Queue_init(&queue, PST_QUEUE_HOST, &stream), "PST_Queue_init");
}

Duplex::Duplex(const Job& job_, std::size_t bytes, bool synchronous) : job(job_), out(bytes), in(bytes) {
  const auto init = synchronous ? MPI_Ssend_init : MPI_Send_init;
  const auto count = static_cast<int>(bytes);
  require_success(init(out.data(), count, MPI_BYTE, job.peer, 41 + job.rank, MPI_COMM_WORLD, &send), "send_init");
  require_success(MPI_Recv_init(in.data(), count, MPI_BYTE, job.peer, 41 + job.peer, MPI_COMM_WORLD, &receive),
                  "recv_init");
}

void Duplex::match() {
  MPI_Request both[2] = {send, receive};
  require_success(PST_Matchall(2, both, MPI_STATUSES_IGNORE), "PST_Matchall");
}

int try_epoch(Lane& lane, MPI_Request& request) {
  if (const int code = PST_Enqueue_start(lane.queue, &request); code != MPI_SUCCESS) return code;
  if (const int code = PST_Enqueue_wait(lane.queue, &request); code != MPI_SUCCESS) return code;
  return PST_Queue_wait(lane.queue);
}

void Duplex::run_epochs(Lane& lane, int count) {
  for (int epoch = 1; epoch <= count; ++epoch) {
    fill(out, epoch);
    lane.start(send);
    lane.start(receive);
    lane.wait(send);
    lane.wait(receive);
    require_success(PST_Queue_wait(lane.queue), "PST_Queue_wait");
    require(holds(in, in.size(), epoch), "the message of epoch " + std::to_string(epoch));
  }
}

}  // namespace penstock::fault

int main(int argc, char** argv) {
  using namespace penstock::fault;
  const char* transport = std::getenv("PENSTOCK_TRANSPORT");
  const bool multiple = transport != nullptr && std::string(transport).find("proxy") != std::string::npos;
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  Job job;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  job.peer = 1 - job.rank;
  own_rank = job.rank;
  const auto all = scenarios();
  const auto scenario = argc == 2 ? all.find(argv[1]) : all.end();
  if (scenario == all.end() || size != scenario->second.ranks) {
    if (job.rank == 0) std::fprintf(stderr, "usage: mpiexec -n RANKS fault_program SCENARIO\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  require_success(PST_Init(), "PST_Init");
  const pid_t own = getpid();
  MPI_Allgather(&own, sizeof own, MPI_BYTE, job.pids, sizeof own, MPI_BYTE, MPI_COMM_WORLD);
  scenario->second.run(job);
  MPI_Finalize();
  say("content");
  return 0;
}
