// SPDX-License-Identifier: Apache-2.0
#include "peer/copy_error.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace penstock::peer {

using base::Error;
using base::ErrorKind;

Error copy_error(int rank, int error) {
  if (error == ESRCH)
    return Error(ErrorKind::peer_dead,
                 fmt::format("rank {} has ended during a copy: see its output", rank));
  return Error(
      ErrorKind::transport,
      fmt::format("cross-memory copy with rank {} failed: {} (PENSTOCK_CMA=0 does without)", rank,
                  std::strerror(error)));
}

}  // namespace penstock::peer
