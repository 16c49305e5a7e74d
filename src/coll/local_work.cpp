// SPDX-License-Identifier: Apache-2.0
#include "coll/local_work.hpp"

#include <algorithm>
#include <cstring>

#include "transport/reduce.hpp"

namespace penstock::coll {

using transport::Element, transport::Reduction;

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

// In pieces that stay in the nearest cache, so that a loop over numbers has no choice in it. By
// copies, as a program's buffer may begin at any address, and the result may be stored over one of
// the values.
template <class T, Reduction reduction>
void combine(const Reduce& reduce, const Memory& memory) noexcept {
  T result[4096 / sizeof(T)], value[4096 / sizeof(T)];
  for (std::size_t at = 0; at < reduce.to.bytes; at += sizeof result) {
    const std::size_t bytes = std::min(sizeof result, reduce.to.bytes - at);
    std::memcpy(result, memory.at(reduce.from.front()) + at, bytes);
    for (std::size_t i = 1; i < reduce.from.size(); ++i) {
      std::memcpy(value, memory.at(reduce.from[i]) + at, bytes);
      for (std::size_t j = 0; j < bytes / sizeof(T); ++j)
        result[j] = transport::reduce(reduction, result[j], value[j]);
    }
    std::memcpy(memory.at(reduce.to) + at, result, bytes);
  }
}

template <class T>
void combine(const Reduce& reduce, const Memory& memory, Reduction reduction) noexcept {
  switch (reduction) {
    case Reduction::replace:
      return combine<T, Reduction::replace>(reduce, memory);
    case Reduction::sum:
      return combine<T, Reduction::sum>(reduce, memory);
    case Reduction::product:
      return combine<T, Reduction::product>(reduce, memory);
    case Reduction::min:
      return combine<T, Reduction::min>(reduce, memory);
    case Reduction::max:
      return combine<T, Reduction::max>(reduce, memory);
    case Reduction::bit_and:
      return combine<T, Reduction::bit_and>(reduce, memory);
    case Reduction::bit_or:
      return combine<T, Reduction::bit_or>(reduce, memory);
    case Reduction::bit_xor:
      return combine<T, Reduction::bit_xor>(reduce, memory);
  }
}

void run(const Reduce& reduce, const Memory& memory, const Combination& combination) noexcept {
  switch (combination.element) {
    case Element::int32:
      return combine<std::int32_t>(reduce, memory, combination.reduction);
    case Element::uint32:
      return combine<std::uint32_t>(reduce, memory, combination.reduction);
    case Element::int64:
      return combine<std::int64_t>(reduce, memory, combination.reduction);
    case Element::uint64:
      return combine<std::uint64_t>(reduce, memory, combination.reduction);
    case Element::float32:
      return combine<float>(reduce, memory, combination.reduction);
    case Element::float64:
      return combine<double>(reduce, memory, combination.reduction);
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
