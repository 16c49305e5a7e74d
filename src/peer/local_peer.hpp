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

#include "base/shared_texts.hpp"
#include "peer/handshake.hpp"
#include "peer/mapping.hpp"

namespace penstock::peer {

// Each process has one of every rank of the job: small, and texts are shared.
struct LocalPeer {
  std::unique_ptr<Mapping> arena;   // null: not reachable
  base::SharedTexts::Text why_not;  // reachable, or not across address spaces
  pid_t process = 0;
  bool cross_memory = false;  // the kernel copies between the two processes, both ways
};

// Tries everything with the process that sent this address. `rank` is ours; `allow_cross_memory`:
// PENSTOCK_CMA.
LocalPeer get_to_know(const AddressRecord& address, int rank, bool allow_cross_memory,
                      base::SharedTexts& texts);

}  // namespace penstock::peer
