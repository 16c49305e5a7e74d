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

// The running kernel: the same in all its namespaces, whatever they call the host. Empty if
// unknown.
std::string kernel_identity();

}  // namespace penstock::group
