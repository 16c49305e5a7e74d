// SPDX-License-Identifier: Apache-2.0
#include "run_delay.hpp"

#include <fmt/core.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <penstock/penstock.hpp>

namespace penstock::bench {
namespace {

constexpr double worth_a_warning = 0.1;

}  // namespace

ThreadTimes thread_times() {
  const auto json = nlohmann::json::parse(describe());
  const auto seconds = [&](const char* key) { return std::stod(json.at(key).get<std::string>()); };
  return {seconds("threads_ran"), seconds("threads_waited")};
}

// A thread that has ended may take its times with it.
void add_passed(ThreadTimes& sum, const ThreadTimes& before) {
  const ThreadTimes after = thread_times();
  sum.ran += std::max(0.0, after.ran - before.ran);
  sum.waited += std::max(0.0, after.waited - before.waited);
}

void warn_of_run_delay(const ThreadTimes& measured, const tool::Session& session) {
  struct {
    double share;
    int rank;
  } mine{0, session.rank()}, worst{};
  if (measured.waited > 0) mine.share = measured.waited / (measured.ran + measured.waited);
  MPI_Reduce(&mine, &worst, 1, MPI_DOUBLE_INT, MPI_MAXLOC, 0, MPI_COMM_WORLD);
  if (!session.is_root() || worst.share < worth_a_warning) return;
  std::fflush(stdout);
  fmt::print(stderr,
             "penstock: warning: threads of rank {} were ready and had no core for {:.0f} % "
             "of the measured time, so the figures are those of a busy machine: give each "
             "rank more cores, launch with --bind-to none, or end what else runs there\n",
             worst.rank, 100 * worst.share);
}

}  // namespace penstock::bench
