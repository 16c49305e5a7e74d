// SPDX-License-Identifier: Apache-2.0
#include "base/descriptor.hpp"

#include <gtest/gtest.h>

#include "unit/support/closed_input.hpp"

namespace penstock::base {
namespace {

TEST(Descriptor, StandardStreamsThatAreClosedStayClosed) {
  const test::ClosedInput input;
  const int opened = open("/dev/null", O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(opened, STDIN_FILENO);
  const int ours = beyond_standard_streams(opened);
  EXPECT_GT(ours, STDERR_FILENO);
  EXPECT_EQ(fcntl(ours, F_GETFD), FD_CLOEXEC);
  EXPECT_TRUE(input.holds());
  EXPECT_EQ(beyond_standard_streams(ours), ours);
  EXPECT_EQ(beyond_standard_streams(-1), -1);
  close(ours);
}

}  // namespace
}  // namespace penstock::base
