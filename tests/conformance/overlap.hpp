// SPDX-License-Identifier: Apache-2.0
// What the tests of overlap have in common: messages of known bytes, of which those from `limit` on
// are the library's.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "support/endpoint.hpp"
#include "support/environment.hpp"
#include "support/pattern.hpp"

namespace penstock::test {

using Bytes = std::vector<std::byte>;

inline constexpr std::size_t limit = 1000;
inline constexpr std::size_t large = 5000;

inline Bytes content(std::uint64_t key, std::uint64_t number, std::size_t bytes) {
  Bytes result(bytes);
  fill_pattern(result.data(), bytes, key, number);
  return result;
}

inline std::uint64_t key_of(int source, int tag, std::uint64_t salt) {
  return salt * 1'000'003 + static_cast<std::uint64_t>(source) * 1009 +
         static_cast<std::uint64_t>(tag);
}

inline void expect_content(const Bytes& found, std::uint64_t key, std::uint64_t number,
                           const std::string& what) {
  EXPECT_EQ(check_pattern(found.data(), found.size(), key, number), "") << what;
}

inline int count_of(std::size_t bytes) {
  return static_cast<int>(bytes);
}

// How many messages this process has sent past MPI.
inline long sent_by_library() {
  int length = 0;
  PST_Describe(nullptr, 0, &length);
  std::string text(static_cast<std::size_t>(length) + 1, '\0');
  PST_Describe(text.data(), length + 1, &length);
  const auto at = text.find("\"sent\": \"");
  return at == std::string::npos ? -1 : std::atol(text.c_str() + at + 9);
}

inline void expect_status(const MPI_Status& status, int source, int tag, std::size_t bytes) {
  int count = -1, cancelled = -1;
  MPI_Get_count(&status, MPI_BYTE, &count);
  MPI_Test_cancelled(&status, &cancelled);
  EXPECT_EQ(status.MPI_SOURCE, source);
  EXPECT_EQ(status.MPI_TAG, tag);
  EXPECT_EQ(count, count_of(bytes));
  EXPECT_EQ(cancelled, 0);
}

}  // namespace penstock::test
