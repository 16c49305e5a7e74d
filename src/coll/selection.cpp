// SPDX-License-Identifier: Apache-2.0
#include "coll/selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "coll/direct_exchange.hpp"

namespace penstock::coll {

using base::Error;
using base::ErrorKind;

namespace {

// Where messages are short their number counts, else the bytes that each rank sends.
std::string_view fastest(CollectiveKind collective, const Shape& shape, bool on_gpu) {
  constexpr std::size_t short_allgather = 8192;
  const std::size_t short_allreduce = !on_gpu            ? std::size_t{16} << 10
                                      : shape.ranks <= 2 ? std::size_t{16} << 20
                                                         : std::size_t{256} << 10;
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
  if (const auto direct = direct_name(collective); !direct.empty())
    names += ", " + std::string(direct);
  return names;
}

}  // namespace

const Algorithm& select(CollectiveKind collective, std::string_view name, const Shape& shape,
                        bool on_gpu) {
  if (name.empty()) return choose(collective, fastest(collective, shape, on_gpu), shape).algorithm;
  const Choice choice = choose(collective, name, shape);
  if (choice.wish.yes) return choice.algorithm;
  throw Error(ErrorKind::unsupported, fmt::format("penstock_algorithm={}: {}; there is {}", name,
                                                  choice.wish.why, names_of(collective)));
}

bool is_fastest_directly(const transport::GroupMessage& message) {
  // All that a member stores, or all that comes to it. With two ranks the direct exchange is the
  // fastest up to there (docs/performance.md); with more, others send less or hold less memory.
  const std::size_t most = message.memory == transport::MemoryKind::host ? std::size_t{16} << 10
                                                                         : std::size_t{256} << 10;
  std::size_t stored = 0, taken = 0;
  for (std::size_t member = 0; member < message.blocks.size(); ++member) {
    if (member == message.me) continue;
    stored += message.blocks[member].bytes_to;
    taken += message.blocks[member].bytes_from;
  }
  return std::max(stored, taken) <= most;
}

}  // namespace penstock::coll
