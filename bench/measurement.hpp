// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench_options.hpp"
#include "bench_table.hpp"
#include "engine.hpp"
#include "pattern.hpp"

namespace penstock::bench {

// Throws tool::UserError unless the job has exactly the two ranks that talk.
void require_two_ranks(const tool::Session& session);

// Throws tool::UserError on both ranks when --transport was given and another transport serves the pair.
void require_transport(const Options& options, const std::string& transport);

// Throws std::runtime_error when a checked message was wrong or none was checked.
void require_right(const CheckResult& result, const char* what, std::size_t bytes);

// Makes a round of something else than the two.
using BaselineRound = std::function<double()>;

// Rounds of MPI, of the stream and of the baselines in turn; `run` makes a round with the engine and the side it is
// given.
template <class Side, class Run>
Row measure(std::size_t bytes, int rounds, MpiEngine& mpi_engine, Side& mpi_side, StreamEngine& stream_engine,
            Side& stream_side, Run&& run, const std::vector<BaselineRound>& baselines = {}) {
  std::vector<double> mpi;
  std::vector<double> stream;
  std::vector<std::vector<double>> others(baselines.size());
  for (int round = 0; round < rounds; ++round) {
    mpi.push_back(run(mpi_engine, mpi_side));
    stream.push_back(run(stream_engine, stream_side));
    for (std::size_t i = 0; i < baselines.size(); ++i) others[i].push_back(baselines[i]());
  }
  Row row{bytes, tool::summarize(mpi), tool::summarize(stream), 0};
  for (const std::vector<double>& other : others) row.baselines.push_back(tool::summarize(other));
  return row;
}

}  // namespace penstock::bench
