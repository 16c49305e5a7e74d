// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace penstock::tool {

inline double now_us() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace penstock::tool
