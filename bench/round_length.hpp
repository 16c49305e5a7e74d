// SPDX-License-Identifier: Apache-2.0
// How many repetitions a round has where the user has not said it: no more than take some time, so
// that a run of all rows ends soon also where a repetition lasts long.
#pragma once

#include <algorithm>

namespace penstock::bench {

// What a first few of them took says how long one lasts.
inline int repetitions_of_round(double us_of_one, int most) {
  constexpr double most_us = 20000;
  constexpr int least = 10;
  if (most <= least || us_of_one <= 0) return most;
  return std::clamp(static_cast<int>(std::min(most_us / us_of_one, 1e9)), least, most);
}

}  // namespace penstock::bench
