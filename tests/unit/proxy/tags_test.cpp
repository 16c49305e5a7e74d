// SPDX-License-Identifier: Apache-2.0
// Tags of accepted pairs: one counter for each source, used again only when given back, an error
// when there are none.
#include "proxy/tags.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace penstock::proxy {
namespace {

TEST(ProxyTags, CountForEachSourceAlone) {
  Tags tags(2, 10);
  EXPECT_EQ(tags.take(0), 1);
  EXPECT_EQ(tags.take(0), 2);
  EXPECT_EQ(tags.take(1), 1);
}

TEST(ProxyTags, AreUsedAgainWhenGivenBack) {
  Tags tags(1, 10);
  EXPECT_EQ(tags.take(0), 1);
  EXPECT_EQ(tags.take(0), 2);
  tags.give_back(0, 1);
  EXPECT_EQ(tags.take(0), 1);
  EXPECT_EQ(tags.take(0), 3);
}

TEST(ProxyTags, ExhaustionIsAnErrorThatSaysWhatToDo) {
  Tags tags(2, 3);
  for (int i = 0; i < 3; ++i) tags.take(1);
  try {
    tags.take(1);
    FAIL() << "no error";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::ErrorKind::resources);
    EXPECT_NE(error.text().find("free requests"), std::string::npos) << error.text();
    EXPECT_NE(error.text().find("rank 1"), std::string::npos) << error.text();
  }
  tags.give_back(1, 1);
  EXPECT_EQ(tags.take(1), 1);
}

}  // namespace
}  // namespace penstock::proxy
