// SPDX-License-Identifier: Apache-2.0
#include "peer/lasting_copy.hpp"

#include <fmt/format.h>

#include "base/log.hpp"

namespace penstock::peer {

bool LastingCopy::is_left_to_peer(const std::string& label) noexcept {
  if (left_ || peer_dead_.load(std::memory_order_acquire)) return true;
  if (timeout_.count() == 0 || !lasts_.exceeds(timeout_)) return false;
  left_ = true;
  base::log::failures_in([&] {
    base::log::error(
        fmt::format("{}: rank {} is in the middle of a copy into the buffer, and does "
                    "not go on: do not use it, or free it, before MPI_Finalize has "
                    "returned",
                    label, peer_));
  });
  return true;
}

}  // namespace penstock::peer
