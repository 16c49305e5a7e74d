// SPDX-License-Identifier: Apache-2.0
#include "measurement.hpp"

#include <fmt/core.h>

#include <chrono>
#include <stdexcept>
#include <thread>

#include "run_delay.hpp"

namespace penstock::bench {

void require_two_ranks(const tool::Session& session) {
  if (session.size() == 2) return;
  throw tool::UserError(fmt::format(
      "bench needs exactly 2 ranks and has {}: run it as mpiexec -n 2 penstock bench ...",
      session.size()));
}

void require_even_ranks(const tool::Session& session, const char* name) {
  if (session.size() % 2 == 0) return;
  throw tool::UserError(
      fmt::format("bench {0} needs an even number of ranks and has {1}: run it as mpiexec -n 4 "
                  "penstock bench {0}",
                  name, session.size()));
}

void require_transport(const Options& options, const std::string& transport) {
  if (options.transport.empty() || options.transport.find(transport) != std::string::npos) return;
  throw tool::UserError(fmt::format("--transport {} was asked for, but {} serves the pair",
                                    options.transport, transport));
}

void require_right(const CheckResult& result, const char* what, std::size_t bytes) {
  if (result.wrong_bytes != 0) {
    throw std::runtime_error(
        fmt::format("check failed: {}, messages of {} bytes: {} wrong bytes, first in message {}",
                    what, bytes, result.wrong_bytes, result.first_wrong_iteration));
  }
  if (result.messages == 0)
    throw std::runtime_error(fmt::format("check failed: {}: no message was checked", what));
}

std::vector<Figure> measure(int rounds, const std::vector<Contender>& contenders) {
  std::vector<Figure> figures;
  for (const Contender& each : contenders) figures.push_back({each.side, {}});
  const MeasuredTime time;
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < contenders.size(); ++i)
      figures[i].samples.push_back(contenders[i].round());
  return figures;
}

// Who is ready first sleeps: busy waiting would take the cores from streams that are still at work.
double slowest(double value) {
  MPI_Request all_ready = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &all_ready);
  for (int done = 0; done == 0;) {
    MPI_Test(&all_ready, &done, MPI_STATUS_IGNORE);
    if (done == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  double maximum = 0;
  MPI_Allreduce(&value, &maximum, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return maximum;
}

std::vector<std::string> only_nonblocking(const Options& options, const char* benchmark) {
  for (const std::string& name : options.baselines)
    if (name != nonblocking)
      throw tool::UserError(fmt::format("bench {} has no baseline {}", benchmark, name));
  return options.baselines;
}

}  // namespace penstock::bench
