// SPDX-License-Identifier: Apache-2.0
#include "coll/local_work.hpp"

#include <algorithm>
#include <cstring>

namespace penstock::coll {

namespace {

void run(const Copy& copy, const Memory& memory) noexcept {
  std::memmove(memory.at(copy.to), memory.at(copy.from), copy.from.bytes);
}

void run(const Permute& permute, const Memory& memory) noexcept {
  const std::byte* from = memory.at(permute.from);
  std::byte* const to = memory.at(permute.to);
  const std::size_t run = permute.run();
  for (std::size_t row = 0; row < permute.rows; ++row)
    for (std::size_t column = 0; column < permute.columns; ++column, from += run)
      std::memcpy(to + (column * permute.rows + row) * run, from, run);
}

// In pieces that stay in the nearest cache, and apart, as the result may be stored over one of the
// values.
void run(const Reduce& reduce, const Memory& memory, const Combination& combination) noexcept {
  constexpr std::size_t piece = 4096;
  const transport::Combiner combiner = transport::combiner_of(combination);
  std::byte sum[piece * transport::Combiner::most_widening];
  for (std::size_t at = 0; at < reduce.to.bytes; at += piece) {
    const std::size_t bytes = std::min(piece, reduce.to.bytes - at);
    combiner.first(sum, memory.at(reduce.from.front()) + at, bytes);
    for (std::size_t i = 1; i < reduce.from.size(); ++i)
      combiner.next(sum, memory.at(reduce.from[i]) + at, bytes);
    combiner.last(memory.at(reduce.to) + at, sum, bytes);
  }
}

}  // namespace

void carry_out(const LocalStep& step, const Memory& memory,
               const Combination& combination) noexcept {
  if (const auto* const copy = std::get_if<Copy>(&step)) return run(*copy, memory);
  if (const auto* const permute = std::get_if<Permute>(&step)) return run(*permute, memory);
  run(std::get<Reduce>(step), memory, combination);
}

}  // namespace penstock::coll
