// SPDX-License-Identifier: Apache-2.0
// How values of several members are combined.
#pragma once

#include <cstddef>

#include "transport/operations.hpp"

namespace penstock::transport {

struct Combination {
  Reduction reduction = Reduction::sum;
  Element element = Element::int32;
};

// In memory of the host, at any addresses: the first of the values, each next one, and what becomes
// of them. In between, in their sum, halves are floats: they are rounded once. `bytes` are those of
// the values, of whole elements; none of the three buffers overlap.
struct Combiner {
  using Step = void (*)(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;

  static constexpr std::size_t most_widening = 2;  // of the sum's bytes

  Step first;  // value to sum
  Step next;   // value into sum
  Step last;   // sum to result
};

Combiner combiner_of(const Combination& combination) noexcept;

}  // namespace penstock::transport
