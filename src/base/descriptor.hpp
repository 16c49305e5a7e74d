// SPDX-License-Identifier: Apache-2.0
// Descriptors of our own.
#pragma once

#include <fcntl.h>
#include <unistd.h>

namespace penstock::base {

// The same file under a number that is not that of a standard stream: a program that has closed
// these may still write to them. Takes the descriptor; negative ones stay as they are, with errno.
inline int beyond_standard_streams(int descriptor) noexcept {
  if (descriptor < 0 || descriptor > STDERR_FILENO) return descriptor;
  const int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  close(descriptor);
  return moved;
}

}  // namespace penstock::base
