// SPDX-License-Identifier: Apache-2.0
#include "coll/local_work.hpp"

#include <cstring>

#include "transport/reduce.hpp"

namespace penstock::coll {

using transport::Element;

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

// By copies, as a program's buffer may begin at any address. The result may be stored over one of
// the values.
template <class T>
void combine(const Reduce& reduce, const Memory& memory, transport::Reduction reduction) noexcept {
  const auto value = [&](std::size_t which, std::size_t at) {
    T read;
    std::memcpy(&read, memory.at(reduce.from[which]) + at, sizeof read);
    return read;
  };
  for (std::size_t at = 0; at < reduce.to.bytes; at += sizeof(T)) {
    T result = value(0, at);
    for (std::size_t i = 1; i < reduce.from.size(); ++i)
      result = transport::reduce(reduction, result, value(i, at));
    std::memcpy(memory.at(reduce.to) + at, &result, sizeof result);
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
