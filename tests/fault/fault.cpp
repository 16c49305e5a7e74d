// SPDX-License-Identifier: Apache-2.0
#include "fault/fault.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
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

bool told(const char* what) {
  char text[2048] = "";
  PST_Last_error(text, sizeof text);
  return std::string(text).find(what) != std::string::npos;
}

void require_kind(int code, PST_Error kind, const std::string& what) {
  PST_Error found = PST_ERROR_NONE;
  PST_Error_kind(code, &found);
  if (found != kind)
    require(false, what + " should be of kind " + std::to_string(kind) + ": " + describe(code));
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

void die_on_stream(void*) {
  die();
}

void set_passed(void* flag) {
  static_cast<std::atomic<bool>*>(flag)->store(true);
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

}  // namespace penstock::fault

int main(int argc, char** argv) {
  using namespace penstock::fault;
  const char* transport = std::getenv("PENSTOCK_TRANSPORT");
  const bool multiple =
      transport != nullptr && std::string(transport).find("proxy") != std::string::npos;
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
