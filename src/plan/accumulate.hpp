// SPDX-License-Identifier: Apache-2.0
// What an accumulate does to each element: atomically, so that those of several origins, and of
// their targets' workers, leave none out.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "transport/reduce.hpp"

namespace penstock::plan {

template <class T>
void accumulate_elements(transport::Reduction reduction, std::byte* to, const std::byte* from,
                         std::size_t bytes) noexcept {
  for (std::size_t at = 0; at < bytes; at += sizeof(T)) {
    T theirs;
    std::memcpy(&theirs, from + at, sizeof(T));
    std::atomic_ref<T> element(*reinterpret_cast<T*>(to + at));
    T ours = element.load(std::memory_order_relaxed);
    while (!element.compare_exchange_weak(ours, transport::reduce(reduction, ours, theirs),
                                          std::memory_order_relaxed)) {
    }
  }
}

// Whole elements, to where they are aligned.
inline void accumulate(const transport::Operation& operation, std::byte* to, const std::byte* from,
                       std::size_t bytes) noexcept {
  switch (operation.element) {
    case transport::Element::int32:
      return accumulate_elements<std::int32_t>(operation.reduction, to, from, bytes);
    case transport::Element::uint32:
      return accumulate_elements<std::uint32_t>(operation.reduction, to, from, bytes);
    case transport::Element::int64:
      return accumulate_elements<std::int64_t>(operation.reduction, to, from, bytes);
    case transport::Element::uint64:
      return accumulate_elements<std::uint64_t>(operation.reduction, to, from, bytes);
    case transport::Element::float32:
      return accumulate_elements<float>(operation.reduction, to, from, bytes);
    case transport::Element::float64:
      return accumulate_elements<double>(operation.reduction, to, from, bytes);
    default:
      return;  // no accumulate takes them
  }
}

}  // namespace penstock::plan
