// SPDX-License-Identifier: Apache-2.0
// Copies between the address spaces of two processes, made by the kernel.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "datatype/segments.hpp"

namespace penstock::peer {

// Where a message lies: its lowest byte, in whichever process, and its segments.
struct MessageMemory {
  std::uint64_t address = 0;
  datatype::SegmentView segments{};  // without a list: no gaps
};

// Each copies `bytes` bytes of the message from `position` on, to or from `theirs`. Returns 0 when
// all have been copied, otherwise the errno; then some bytes may have been copied.
int read_process(pid_t process, const MessageMemory& ours, const MessageMemory& theirs,
                 std::size_t position, std::size_t bytes) noexcept;
int write_process(pid_t process, const MessageMemory& theirs, const MessageMemory& ours,
                  std::size_t position, std::size_t bytes) noexcept;

}  // namespace penstock::peer
