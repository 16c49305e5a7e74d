// SPDX-License-Identifier: Apache-2.0
// Memory of one process that others of its host use as their own.
#pragma once

#include <memory>

#include "transport/message.hpp"

namespace penstock::transport {

// The owner's side: what the others need, and what must be kept until they have closed theirs.
struct SharedMemory {
  WireRecord record;
  std::shared_ptr<const void> kept;  // null where nothing has to be
};

}  // namespace penstock::transport
