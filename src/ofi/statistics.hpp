// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace penstock::ofi {

struct Statistics {
  std::uint64_t posted = 0;      // starts whose operations the provider has been given ahead
  std::uint64_t throttled = 0;   // starts that had to wait for entries
  std::uint64_t taken_over = 0;  // starts that were carried out without entries, or with too few
  unsigned in_use = 0;           // entries
  unsigned most_in_use = 0;
};

}  // namespace penstock::ofi
