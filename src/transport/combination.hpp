// SPDX-License-Identifier: Apache-2.0
// How values of several members are combined in memory of the host.
#pragma once

#include <cstddef>

#include "transport/operations.hpp"

namespace penstock::transport {

struct Combination {
  Reduction reduction = Reduction::replace;
  Element element = Element::int32;
};

// What lies at `result` is combined with `values`, at any addresses, of whole elements.
using Combine = void (*)(std::byte* result, const std::byte* values, std::size_t bytes) noexcept;

Combine combine_of(const Combination& combination) noexcept;

}  // namespace penstock::transport
