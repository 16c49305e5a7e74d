// SPDX-License-Identifier: Apache-2.0
// One contribution brought together with what a cell holds: the same arithmetic on hosts and on
// GPUs.
#pragma once

#include <cstring>
#include <penstock/halo_kinds.hpp>
#include <type_traits>

#if defined(__CUDACC__) || defined(__HIPCC__)
#define PENSTOCK_HALO_BOTH __host__ __device__
#else
#define PENSTOCK_HALO_BOTH
#endif

namespace penstock::halo {

template <Reduction reduction, class T>
PENSTOCK_HALO_BOTH inline T reduce(T held, T arrived) {
  if constexpr (reduction == Reduction::min) {
    return arrived < held ? arrived : held;
  } else if constexpr (reduction == Reduction::max) {
    return held < arrived ? arrived : held;
  } else if constexpr (reduction == Reduction::sum && std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(held) + static_cast<std::uint64_t>(arrived));
  } else if constexpr (reduction == Reduction::sum) {
    return held + arrived;
  } else {
    return arrived;
  }
}

// The elements of an array of bytes: a program's long and our std::int64_t need not be one type.
template <class T>
PENSTOCK_HALO_BOTH inline T load(const std::byte* from) {
  T value;
  memcpy(&value, from, sizeof value);
  return value;
}
template <class T>
PENSTOCK_HALO_BOTH inline void store(std::byte* to, T value) {
  memcpy(to, &value, sizeof value);
}

}  // namespace penstock::halo
