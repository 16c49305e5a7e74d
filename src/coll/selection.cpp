// SPDX-License-Identifier: Apache-2.0
#include "coll/selection.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
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
  refuse_algorithm(collective, name, choice.wish.why);
}

void refuse_algorithm(CollectiveKind collective, std::string_view name, std::string_view why) {
  throw Error(ErrorKind::unsupported,
              fmt::format("algorithm {}: {}; there is {}; without penstock_algorithm and "
                          "PENSTOCK_COLL the library takes one that serves",
                          name, why, names_of(collective)));
}

namespace {

bool has_algorithm(CollectiveKind collective, std::string_view name) {
  const auto all = algorithms(collective);
  return is_direct(collective, name) ||
         std::any_of(all.begin(), all.end(),
                     [&](const Algorithm& each) { return each.name == name; });
}

[[noreturn]] void refuse(std::string_view setting, const std::string& why) {
  throw Error(ErrorKind::setting, fmt::format("PENSTOCK_COLL='{}' is not valid: {}", setting, why));
}

CollectiveKind collective_named(std::string_view name, std::string_view setting) {
  const auto found = std::find(std::begin(collective_names), std::end(collective_names), name);
  if (found == std::end(collective_names))
    refuse(setting, fmt::format("there is no collective '{}': give pairs as in "
                                "allreduce:doubling,alltoall:pairwise of {}",
                                name, fmt::join(collective_names, ", ")));
  return static_cast<CollectiveKind>(found - std::begin(collective_names));
}

}  // namespace

std::string_view forced_algorithm(std::string_view setting, CollectiveKind collective) {
  std::string_view forced;
  for (std::string_view rest = setting; !rest.empty();) {
    const std::string_view pair = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    const auto colon = std::min(pair.find(':'), pair.size());
    const CollectiveKind kind = collective_named(pair.substr(0, colon), setting);
    const std::string_view name = pair.substr(std::min(colon + 1, pair.size()));
    if (!has_algorithm(kind, name))
      refuse(setting, fmt::format("{} has no algorithm '{}'; there is {}", name_of(kind), name,
                                  names_of(kind)));
    if (kind == collective) forced = name;
  }
  return forced;
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
