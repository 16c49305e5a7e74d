// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <unistd.h>

namespace penstock::test {

// Standard input is closed as long as this lives, so that what is opened next gets its number.
class ClosedInput {
 public:
  ClosedInput() : kept_(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)) {
    close(STDIN_FILENO);
  }
  ~ClosedInput() {
    if (kept_ < 0) return;
    dup2(kept_, STDIN_FILENO);
    close(kept_);
  }
  ClosedInput(const ClosedInput&) = delete;
  ClosedInput& operator=(const ClosedInput&) = delete;
  // Nobody has opened anything under its number.
  bool holds() const { return fcntl(STDIN_FILENO, F_GETFD) == -1; }

 private:
  const int kept_;
};

}  // namespace penstock::test
