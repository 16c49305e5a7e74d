// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench_options.hpp"
#include "engine.hpp"
#include "figure.hpp"
#include "pattern.hpp"

namespace penstock::bench {

// Throws tool::UserError unless the job has exactly the two ranks that talk.
void require_two_ranks(const tool::Session& session);

// The same unless ranks can be paired. `name`: of the benchmark.
void require_even_ranks(const tool::Session& session, const char* name);

// Throws tool::UserError on both ranks when --transport was given and another transport serves the
// pair.
void require_transport(const Options& options, const std::string& transport);

// Throws std::runtime_error when a checked message was wrong or none was checked.
void require_right(const CheckResult& result, const char* what, std::size_t bytes);

// One side of a comparison, and how it makes a round.
struct Contender {
  std::string side;
  std::function<double()> round;
};

// Rounds of all in turn.
std::vector<Figure> measure(int rounds, const std::vector<Contender>& contenders);

// What all ranks together take is what the slowest one takes. Collective.
double slowest(double value);

// The baseline of every benchmark on host streams: MPI_Isend and MPI_Irecv.
inline constexpr const char* nonblocking = "mpi-nonblocking";
// --baseline of a benchmark that has no other one; throws tool::UserError.
std::vector<std::string> only_nonblocking(const Options& options, const char* benchmark);

}  // namespace penstock::bench
