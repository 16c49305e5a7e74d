// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench_options.hpp"

namespace penstock::bench {

// The names of the library's algorithms, for --algorithm all: docs/collectives.md has them, and a
// test asks the library. The library itself refuses a name that it does not know.
std::vector<std::string> algorithms_of(Kind kind);

}  // namespace penstock::bench
