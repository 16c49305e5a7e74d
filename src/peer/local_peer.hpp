// SPDX-License-Identifier: Apache-2.0
// What we can do with the memory of another process: found out by trying, never by host names or
// process numbers.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "peer/handshake.hpp"
#include "peer/mapping.hpp"

namespace penstock::peer {

struct LocalPeer {
  std::unique_ptr<Mapping> arena;  // null: not reachable
  std::string why_not;
  pid_t process = 0;
  bool cross_memory = false;  // the kernel copies between the two processes, both ways
  std::string why_no_cross_memory;
};

// Tries everything with the process that sent this address. `rank` is ours; `allow_cross_memory`:
// PENSTOCK_CMA.
LocalPeer get_to_know(const AddressRecord& address, int rank, bool allow_cross_memory);

}  // namespace penstock::peer
