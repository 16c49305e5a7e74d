// SPDX-License-Identifier: Apache-2.0
// What an accumulate does to each element, by the threads of one block: atomically, so that those
// of several origins leave none out.
#pragma once

#include <gpu_runtime.hpp>

#include "transport/reduce.hpp"

namespace penstock::peer_gpu {

template <class T>
__device__ void accumulate_elements(transport::Reduction reduction, T* to, const T* from,
                                    std::uint64_t count) {
  for (std::uint64_t i = threadIdx.x; i < count; i += blockDim.x) {
    ::cuda::atomic_ref<T, ::cuda::thread_scope_system> element(to[i]);
    const T theirs = from[i];
    if (reduction == transport::Reduction::sum) {
      element.fetch_add(theirs, ::cuda::memory_order_relaxed);
      continue;
    }
    T ours = element.load(::cuda::memory_order_relaxed);
    while (!element.compare_exchange_strong(ours, transport::reduce(reduction, ours, theirs),
                                            ::cuda::memory_order_relaxed,
                                            ::cuda::memory_order_relaxed)) {
    }
  }
}

// Whole elements, to where they are aligned. A call of its own, as its code is large and seldom
// run.
static __device__ __noinline__ void accumulate(const transport::Operation& operation, std::byte* to,
                                               const std::byte* from) {
  const auto elements = [&]<class T>(T) {
    accumulate_elements(operation.reduction, reinterpret_cast<T*>(to),
                        reinterpret_cast<const T*>(from), operation.bytes / sizeof(T));
  };
  switch (operation.element) {
    case transport::Element::int32:
      return elements(std::int32_t());
    case transport::Element::uint32:
      return elements(std::uint32_t());
    case transport::Element::int64:
      return elements(std::int64_t());
    case transport::Element::uint64:
      return elements(std::uint64_t());
    case transport::Element::float32:
      return elements(float());
    case transport::Element::float64:
      return elements(double());
    default:
      return;  // no accumulate takes them
  }
}

}  // namespace penstock::peer_gpu
