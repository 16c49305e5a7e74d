// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace penstock::group {

// The host that this process runs on, as hwloc sees it. What is unknown is 0 or empty.
struct Machine {
  int cores = 0;
  int usable_cores = 0;  // by this process
  int numa_nodes = 0;
  std::string processor;
};

Machine look_at_machine();

}  // namespace penstock::group
