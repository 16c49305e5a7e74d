// SPDX-License-Identifier: Apache-2.0
#include "collective_check.hpp"

#include <fmt/format.h>

#include <functional>
#include <numeric>
#include <stdexcept>

#include "collective_data.hpp"

namespace penstock::bench {
namespace {

std::size_t differing(const std::vector<std::byte>& one, const std::vector<std::byte>& other) {
  return std::transform_reduce(one.begin(), one.end(), other.begin(), std::size_t{0}, std::plus<>(),
                               std::not_equal_to<>());
}

}  // namespace

// Buffers are zeroed when they are made, and zeros are no result.
void require_right_result(Kind kind, const Row& row, Side& side, Device& device) {
  for (const Message& each : side.messages())
    if (each.sends) device.copy(each.bytes, given_block(kind, row.traffic, each.part));
  side.run_round(1);
  std::size_t wrong = 0;
  for (const Message& each : side.messages()) {
    if (each.sends) continue;
    std::vector<std::byte> found(each.bytes.size());
    device.copy(found, each.bytes);
    wrong += differing(found, expected_block(kind, row.traffic, each.part));
  }
  if (wrong != 0)
    throw std::runtime_error(fmt::format("check failed: {}, {} of {} bytes: {} wrong bytes",
                                         side.name(), about(kind).command, row.bytes, wrong));
}

}  // namespace penstock::bench
