// SPDX-License-Identifier: Apache-2.0
// Runs the programs of a litmus test as threads, with random delays between calls and between the
// looks of a wait.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "protocol/explorer/program.hpp"
#include "protocol/threads/pair.hpp"

namespace penstock::threads {

struct Setting {
  Form form;             // of every message
  unsigned repeats = 1;  // of each program
  std::uint64_t seed = 1;
  bool delays = true;
};

// Empty, or what went wrong first.
std::string run_threads(const std::vector<PairSpec>& kinds,
                        const std::vector<std::string>& programs, const Setting& setting);

}  // namespace penstock::threads
