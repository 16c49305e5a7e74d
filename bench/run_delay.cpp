// SPDX-License-Identifier: Apache-2.0
#include "run_delay.hpp"

#include <fmt/core.h>
#include <mpi.h>

#include <cstdio>
#include <fstream>
#include <system_error>

namespace penstock::bench {
namespace {

constexpr double worth_a_warning = 0.1;

ThreadTimes measured;

}  // namespace

TimesByThread look_at_threads(const std::filesystem::path& tasks) {
  TimesByThread all;
  std::error_code failure;
  for (std::filesystem::directory_iterator each(tasks, failure), end; !failure && each != end;
       each.increment(failure)) {
    ThreadTimes times;
    if (std::ifstream(each->path() / "schedstat") >> times.ran >> times.waited)
      all[each->path().filename().string()] = times;
  }
  return all;
}

ThreadTimes passed(const TimesByThread& before, const TimesByThread& after) {
  ThreadTimes sum;
  for (const auto& [thread, times] : after) {
    const auto earlier = before.find(thread);
    const ThreadTimes start = earlier == before.end() ? ThreadTimes{} : earlier->second;
    sum.ran += times.ran - start.ran;
    sum.waited += times.waited - start.waited;
  }
  return sum;
}

MeasuredTime::~MeasuredTime() {
  const ThreadTimes times = passed(before_, look_at_threads());
  measured.ran += times.ran;
  measured.waited += times.waited;
}

void warn_of_run_delay(const tool::Session& session) {
  struct {
    double share;
    int rank;
  } mine{0, session.rank()}, worst{};
  if (measured.waited > 0) mine.share = measured.waited / (measured.ran + measured.waited);
  MPI_Reduce(&mine, &worst, 1, MPI_DOUBLE_INT, MPI_MAXLOC, 0, MPI_COMM_WORLD);
  if (!session.is_root() || worst.share < worth_a_warning) return;
  std::fflush(stdout);
  fmt::print(stderr,
             "penstock: warning: threads of rank {} were ready and had no core for {:.0f} % of the "
             "measured time, so the "
             "figures are those of a busy machine: give each rank more cores, launch with "
             "--bind-to none, or end what "
             "else runs there\n",
             worst.rank, 100 * worst.share);
}

}  // namespace penstock::bench
