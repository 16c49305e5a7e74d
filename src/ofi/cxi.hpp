// SPDX-License-Identifier: Apache-2.0
// The part of the CXI provider's extension to libfabric that is used here: counters of the NIC that
// a processor or a GPU adds to by a store, and that the NIC writes back to memory. Declared from
// its documentation, since the provider's own header comes with the provider only.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>

#include <cstddef>
#include <cstdint>

namespace penstock::ofi::cxi {

// The name by which fi_open_ops() of a counter gives CounterOps.
inline constexpr char counter_ops[] = "cxi_counter_ops";

// Its layout is the provider's. Both return 0 or a negative code.
struct CounterOps {
  int (*set_wb_buffer)(fid* counter, void* memory, std::size_t bytes);
  int (*get_mmio_addr)(fid* counter, void** address, std::size_t* bytes);
};

// The words at the address of a counter. What is stored into the first is added to the counter.
enum class Register : std::size_t { add = 0, add_error = 1, reset = 2, reset_error = 3 };

// What the NIC writes back: 48 bits of successes, 7 of failures, and a bit that says it has
// written.
struct WriteBack {
  std::uint64_t successes = 0;
  unsigned failures = 0;
  bool valid = false;

  static constexpr std::uint64_t most_successes = (std::uint64_t{1} << 48) - 1;
  static constexpr unsigned most_failures = 127;
};

constexpr WriteBack decode(std::uint64_t word) noexcept {
  return {word & WriteBack::most_successes,
          static_cast<unsigned>(word >> 48) & WriteBack::most_failures, (word >> 63) != 0};
}

}  // namespace penstock::ofi::cxi
