// SPDX-License-Identifier: Apache-2.0
#include "coll/selection.hpp"

#include <fmt/format.h>

#include <string>

#include "base/error.hpp"

namespace penstock::coll {

using base::Error;
using base::ErrorKind;

namespace {

// Where messages are short their number counts, else the bytes that each rank sends.
std::string_view fastest(CollectiveKind collective, const Shape& shape) {
  constexpr std::size_t short_allreduce = 16384, short_allgather = 8192;
  constexpr int few_ranks = 8;
  switch (collective) {
    case CollectiveKind::allreduce:
      return shape.bytes() <= short_allreduce ? "doubling" : "two-shot";
    case CollectiveKind::allgather:
      return shape.bytes() <= short_allgather ? "dissemination" : "ring";
    case CollectiveKind::alltoall:
    case CollectiveKind::alltoallv:
      return shape.ranks <= few_ranks ? "nonblocking" : "pairwise";
    default:
      return algorithms(collective).front().name;
  }
}

std::string names_of(CollectiveKind collective) {
  std::string names;
  for (const Algorithm& each : algorithms(collective))
    names += (names.empty() ? "" : ", ") + std::string(each.name);
  return names;
}

}  // namespace

const Algorithm& select(CollectiveKind collective, std::string_view name, const Shape& shape) {
  if (name.empty()) return choose(collective, fastest(collective, shape), shape).algorithm;
  const Choice choice = choose(collective, name, shape);
  if (choice.wish.yes) return choice.algorithm;
  throw Error(ErrorKind::unsupported, fmt::format("penstock_algorithm={}: {}; there is {}", name,
                                                  choice.wish.why, names_of(collective)));
}

}  // namespace penstock::coll
