// SPDX-License-Identifier: Apache-2.0
#include "bench_options.hpp"

#include <bit>

namespace penstock::bench {

std::vector<std::size_t> message_sizes(const Options& options) {
  std::vector<std::size_t> sizes = options.sizes;
  if (sizes.empty()) {
    sizes.push_back(options.min_bytes);
    for (std::size_t size = std::bit_ceil(options.min_bytes + 1); size <= options.max_bytes;
         size *= 2)
      sizes.push_back(size);
  }
  if (options.layout.has_gaps())
    std::erase_if(sizes,
                  [&](std::size_t size) { return size == 0 || size % options.layout.row != 0; });
  return sizes;
}

const char* name_of(MemoryKind kind) noexcept {
  return kind == MemoryKind::alloc ? "PST_Alloc_mem" : "ordinary";
}

const char* name_of(Mode mode) noexcept {
  return mode == Mode::ready ? "ready" : mode == Mode::synchronous ? "synchronous" : "standard";
}

const char* name_of(Order order) noexcept {
  switch (order) {
    case Order::preposted:
      return "preposted";
    case Order::run:
      return "run";
    case Order::inside:
      return "inside";
    default:
      return "sequential";
  }
}

}  // namespace penstock::bench
