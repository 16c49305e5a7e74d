// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace penstock::ofi {

// A place in the memory of another process that it has exposed by a region (fabric.hpp), as it
// travels.
struct RemoteAddress {
  std::uint64_t address = 0;
  std::uint64_t key = 0;
};

}  // namespace penstock::ofi
