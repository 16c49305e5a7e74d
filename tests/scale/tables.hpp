// SPDX-License-Identifier: Apache-2.0
// What a process keeps of each rank of its job, whether or not it ever has to do with that rank.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace penstock::scale {

struct Table {
  std::string what;
  std::string where;  // under src/
  double bytes;       // of a rank of the job
};

// Those of a process on its own host: all other ranks are out of reach of shared memory, and the
// network serves each. Not what libfabric's provider and MPI keep.
std::vector<Table> tables();

}  // namespace penstock::scale
