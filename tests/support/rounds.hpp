// SPDX-License-Identifier: Apache-2.0
// How often a test does the same again where each time shows about as much as the last.
#pragma once

namespace penstock::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

// So often; in trees of sanitizers, where a step takes ten times as long, one time in `by`.
template <class Count>
constexpr Count fewer_rounds(Count count, Count by) {
  return sanitized ? (count + by - 1) / by : count;
}

}  // namespace penstock::test
