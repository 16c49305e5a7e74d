// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#if defined(__CUDACC__) || defined(__HIPCC__)
#define PENSTOCK_LIFE_BOTH __host__ __device__
#else
#define PENSTOCK_LIFE_BOTH
#endif

namespace penstock::life {

// What a live cell at this place gives to the sum of its generation.
PENSTOCK_LIFE_BOTH inline std::uint64_t share_of(std::uint64_t place) {
  std::uint64_t value = place + 1;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

}  // namespace penstock::life
