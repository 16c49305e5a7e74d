// SPDX-License-Identifier: Apache-2.0
// Errors where there is no memory: what tells of a failure must not end the process.
#include "base/error.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "unit/support/scarce_memory.hpp"

namespace penstock::base {
namespace {

const std::string long_text(500, 'x');

TEST(ErrorTest, CopiesShareTheText) {
  const Error error(ErrorKind::transport, long_text);
  std::optional<Error> copy;
  {
    const ScarceMemory none(0);
    copy = error;
    const Error another = *copy;
    copy.reset();
    copy = another;
  }
  EXPECT_EQ(copy->text(), long_text);
  EXPECT_EQ(copy->kind(), ErrorKind::transport);
}

TEST(ErrorTest, WithoutMemoryForItsTextTellsOfThat) {
  std::optional<Error> error;
  {
    const ScarceMemory none(0);
    error = error_by(ErrorKind::timeout, [] { return long_text; });
  }
  EXPECT_EQ(error->kind(), ErrorKind::timeout);
  EXPECT_NE(error->text().find("out of memory"), std::string::npos);
  EXPECT_EQ(error_by(ErrorKind::timeout, [] { return long_text; }).text(), long_text);
}

}  // namespace
}  // namespace penstock::base
