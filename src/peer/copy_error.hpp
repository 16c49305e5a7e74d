// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.hpp"

namespace penstock::peer {

// What is told of a copy between this process and that rank, which the kernel has refused with this
// errno.
base::Error copy_error(int rank, int error);

}  // namespace penstock::peer
