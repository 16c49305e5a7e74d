// SPDX-License-Identifier: Apache-2.0
#include "base/descriptor.hpp"

#include <gtest/gtest.h>

namespace penstock::base {
namespace {

// Standard input is closed in the meantime, so that its number is free.
TEST(Descriptor, StandardStreamsThatAreClosedStayClosed) {
  const int before = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10);
  close(STDIN_FILENO);
  const int opened = open("/dev/null", O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(opened, STDIN_FILENO);
  const int ours = beyond_standard_streams(opened);
  EXPECT_GT(ours, STDERR_FILENO);
  EXPECT_EQ(fcntl(ours, F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(fcntl(STDIN_FILENO, F_GETFD), -1);
  EXPECT_EQ(beyond_standard_streams(ours), ours);
  EXPECT_EQ(beyond_standard_streams(-1), -1);
  close(ours);
  if (before >= 0) {
    dup2(before, STDIN_FILENO);
    close(before);
  }
}

}  // namespace
}  // namespace penstock::base
