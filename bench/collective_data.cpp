// SPDX-License-Identifier: Apache-2.0
#include "collective_data.hpp"

#include <cstring>

#include "pattern.hpp"

namespace penstock::bench {
namespace {

// Whole numbers, so that their sums are the same in any order.
double number_of(int rank, std::size_t place) {
  return static_cast<double>((place + 1) * static_cast<std::size_t>(rank + 3) % 1021);
}

double sum_of(int ranks, std::size_t place) {
  double sum = 0;
  for (int rank = 0; rank < ranks; ++rank) sum += number_of(rank, place);
  return sum;
}

// `at`: gives the number at a place of what all ranks combine. Of blocks for several ranks each is
// as long as this one.
template <class At>
std::vector<std::byte> numbers(std::size_t bytes, int block, At&& at) {
  const std::size_t count = bytes / sizeof(double);
  std::vector<std::byte> all(bytes);
  for (std::size_t i = 0; i < count; ++i) {
    const double number = at(static_cast<std::size_t>(block) * count + i);
    std::memcpy(all.data() + i * sizeof number, &number, sizeof number);
  }
  return all;
}

std::vector<std::byte> bytes_between(Kind kind, int from, int to, const Traffic& traffic,
                                     std::size_t bytes) {
  const bool is_for_one = kind == Kind::alltoall || kind == Kind::alltoallv;
  std::vector<std::byte> all(bytes);
  fill_pattern(all, static_cast<std::uint64_t>(from * traffic.ranks + (is_for_one ? to : 0)), 0);
  return all;
}

}  // namespace

std::vector<std::byte> given_block(Kind kind, const Traffic& traffic, const Traffic::Part& block) {
  if (!is_reduction(kind))
    return bytes_between(kind, traffic.rank, block.peer, traffic, block.bytes);
  return numbers(block.bytes, block.peer,
                 [&](std::size_t place) { return number_of(traffic.rank, place); });
}

std::vector<std::byte> expected_block(Kind kind, const Traffic& traffic,
                                      const Traffic::Part& block) {
  if (!is_reduction(kind))
    return bytes_between(kind, block.peer, traffic.rank, traffic, block.bytes);
  return numbers(block.bytes, kind == Kind::reduce_scatter ? traffic.rank : 0,
                 [&](std::size_t place) { return sum_of(traffic.ranks, place); });
}

}  // namespace penstock::bench
