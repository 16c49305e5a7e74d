// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace penstock::coll {

// How many ranks collectives are tried with: all small numbers, and one with many divisors.
inline const std::vector<int>& numbers_of_ranks() {
  static const std::vector<int> numbers{1,  2,  3,  4,  5,  6,  7,  8,  9,
                                        10, 11, 12, 13, 14, 15, 16, 17, 24};
  return numbers;
}

inline std::vector<int> divisors(int number) {
  std::vector<int> all;
  for (int each = 1; each <= number; ++each)
    if (number % each == 0) all.push_back(each);
  return all;
}

}  // namespace penstock::coll
