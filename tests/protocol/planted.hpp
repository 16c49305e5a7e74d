// SPDX-License-Identifier: Apache-2.0
// What is planted in a protocol has to be found.
#pragma once

#include <gtest/gtest.h>

#include <iostream>
#include <string>

#include "protocol/group_result.hpp"

namespace penstock::explorer {

// A word of the failure's first line tells it.
inline void expect_fails_by(const GroupResult& result, const std::string& word) {
  const std::string first_line = result.failure.substr(0, result.failure.find('\n'));
  std::cout << "  " << (result.ok() ? "NOT FOUND" : first_line) << '\n';
  EXPECT_NE(first_line.find(word), std::string::npos)
      << (result.ok() ? "not found" : result.failure);
}

}  // namespace penstock::explorer
