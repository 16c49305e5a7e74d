// SPDX-License-Identifier: Apache-2.0
#include "transport/peer/cuda/shape.hpp"

#include <algorithm>

#include "transport/peer/cuda/kernels.hpp"

namespace penstock::transport::peer::cuda {

namespace {

constexpr std::uint64_t cells_a_block = 2 * most_threads;
constexpr std::uint64_t bytes_a_block = 16 * 1024;

std::uint16_t divide(std::uint64_t work, std::uint64_t share, unsigned most) noexcept {
  return static_cast<std::uint16_t>(std::clamp<std::uint64_t>((work + share - 1) / share, 1, std::max(most, 1u)));
}

Shape shape_of(const Pair& pair, unsigned most_blocks) noexcept {
  if (pair.route == Route::rendezvous) return {divide(pair.bytes, bytes_a_block, most_blocks), most_threads};
  const std::uint64_t cells = cells_for(pair.bytes);
  const auto threads = static_cast<std::uint16_t>(std::min<std::uint64_t>((cells + 31) / 32 * 32, most_threads));
  return {divide(cells, cells_a_block, most_blocks), threads};
}

}  // namespace

Shape shape_of_start(const Pair& pair, unsigned most_blocks) noexcept {
  return pair.sends ? shape_of(pair, most_blocks) : Shape{};  // a receive only says that it is there
}

Shape shape_of_wait(const Pair& pair, unsigned most_blocks) noexcept {
  if (pair.route == Route::ring && pair.sends) return {};  // looks at one word
  return shape_of(pair, most_blocks / 2);
}

}  // namespace penstock::transport::peer::cuda
