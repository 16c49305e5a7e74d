// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "support/rounds.hpp"

namespace penstock::coll {

// How many ranks collectives are tried with: all small numbers, and one with many divisors; some of
// them in trees of sanitizers.
inline std::vector<int> numbers_of_ranks() {
  if (test::sanitized) return {1, 2, 3, 5, 7, 8, 12};
  return {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 24};
}

inline std::vector<int> divisors(int number) {
  std::vector<int> all;
  for (int each = 1; each <= number; ++each)
    if (number % each == 0) all.push_back(each);
  return all;
}

}  // namespace penstock::coll
