// SPDX-License-Identifier: Apache-2.0
#include "coll/selection.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "coll/widths.hpp"
#include "coll/wish.hpp"

namespace penstock::coll {

using base::Error;
using base::ErrorKind;

namespace {

constexpr std::size_t KiB = 1024, MiB = 1024 * KiB;

bool on_one_node(const Shape& shape) {
  return std::all_of(shape.node.begin(), shape.node.end(), [](int node) { return node == 0; });
}

// Several nodes of as many ranks each, where what goes between nodes is worth being gathered.
bool has_even_nodes(const Shape& shape) {
  return !on_one_node(shape) && even_nodes(shape).yes && node_ranks(shape) > 1;
}

// One leader a node is the fastest where it serves few ranks, and while what it holds is not large
// (docs/results/collectives.md).
std::string_view fastest_alltoall(const Shape& shape) {
  constexpr int most_of_one_leader = 8;
  if (has_even_nodes(shape) && node_ranks(shape) <= most_of_one_leader && shape.bytes() <= 64 * KiB)
    return "hierarchical";
  return shape.ranks <= few_ranks ? "nonblocking" : "pairwise";
}

// Where messages are short their number counts, else the bytes that each rank sends.
std::string_view fastest_allreduce(int ranks, std::size_t bytes, bool on_gpu, bool on_one_host) {
  std::size_t most = 16 * KiB;  // perhaps between hosts: reckoned, not measured
  if (on_gpu)
    most = ranks <= 2 ? 16 * MiB : 256 * KiB;
  else if (on_one_host)
    most = ranks <= 2 ? 2 * KiB : 4 * KiB;
  return bytes <= most ? "doubling" : "two-shot";
}

std::string_view fastest(CollectiveKind collective, const Shape& shape, bool on_gpu) {
  constexpr std::size_t short_allgather = 8 * KiB;
  switch (collective) {
    case CollectiveKind::allreduce:
      if (!on_gpu && has_even_nodes(shape)) return "lanes";
      return fastest_allreduce(shape.ranks, shape.bytes(), on_gpu, on_one_node(shape));
    case CollectiveKind::team_allreduce: {
      const int team = node_ranks(shape);
      return fastest_allreduce(shape.ranks / team, shape.bytes() / static_cast<std::size_t>(team),
                               on_gpu, false);
    }
    case CollectiveKind::allgather:
      return shape.ranks > 2 && shape.bytes() <= short_allgather ? "dissemination" : "ring";
    case CollectiveKind::alltoall:
      return fastest_alltoall(shape);
    case CollectiveKind::alltoallv:
      return shape.ranks <= few_ranks ? "nonblocking" : "pairwise";
    default:
      return algorithms(collective).front().name;
  }
}

Shape widened(Shape shape, const Algorithm& algorithm, int width) {
  if (width > 0 && algorithm.width != nullptr) shape.*algorithm.width = width;
  return shape;
}

// Whether it can be had; then `selection` has it. The wish has been read: there is one of its name.
base::Verdict take(const Situation& situation, const Wish& wish, Selection& selection) {
  if (is_direct(situation.collective, wish.name)) {
    if (!situation.direct.yes) return situation.direct;
    if (wish.name != situation.direct_name)
      return base::refused(fmt::format("the ranks offer {}", situation.direct_name));
    selection = {nullptr, situation.shape, {}};
    return base::accepted();
  }
  const Algorithm& algorithm = *find_algorithm(situation.collective, wish.name);
  Shape shape = widened(situation.shape, algorithm, wish.width);
  base::Verdict verdict = algorithm.serves(shape);
  if (verdict.yes) selection = {&algorithm, std::move(shape), {}};
  return verdict;
}

[[noreturn]] void refuse(CollectiveKind collective, std::string_view wish, std::string_view why) {
  throw Error(ErrorKind::unsupported,
              fmt::format("algorithm {}: {}; there is {}; without penstock_algorithm and "
                          "PENSTOCK_COLL the library takes one that serves",
                          wish, why, names_of(collective)));
}

Wish require_wish(CollectiveKind collective, std::string_view text) {
  try {
    return read_wish(collective, text);
  } catch (const Error& error) {
    refuse(collective, text, error.text());
  }
}

Selection select_forced(const Situation& situation, std::string_view forced) {
  Selection selection{};
  const Wish wish = require_wish(situation.collective, forced);
  if (const auto verdict = take(situation, wish, selection); !verdict.yes)
    refuse(situation.collective, forced, verdict.why);
  selection.because = "as it was asked for";
  return selection;
}

Selection select_by_rule(const Situation& situation) {
  const bool directly = situation.direct.yes && situation.direct_is_fastest;
  const CollectiveKind collective = situation.collective;
  if (directly) return {nullptr, situation.shape, "by the built-in rule"};
  const auto name = fastest(collective, situation.shape, situation.on_gpu);
  return {find_algorithm(collective, name), situation.shape, "by the built-in rule"};
}

}  // namespace

Selection select(const Situation& situation, std::string_view forced, std::string_view tuned) {
  if (!forced.empty()) return select_forced(situation, forced);
  if (tuned.empty()) return select_by_rule(situation);
  Selection selection{};
  const base::Verdict verdict = take(situation, read_wish(situation.collective, tuned), selection);
  if (verdict.yes) {
    selection.because = "by PENSTOCK_TUNE";
    return selection;
  }
  selection = select_by_rule(situation);
  selection.because += fmt::format(", as {} of PENSTOCK_TUNE does not serve", tuned);
  return selection;
}

std::string describe(const Selection& selection, const Situation& situation) {
  std::string also, not_these;
  const auto add = [&](std::string_view name, const base::Verdict& verdict) {
    if (verdict.yes)
      also += fmt::format("{}{}", also.empty() ? "; also served by " : ", ", name);
    else
      not_these += fmt::format("; not {} ({})", name, verdict.why);
  };
  for (const Algorithm& each : algorithms(situation.collective))
    if (&each != selection.algorithm)
      add(full_name(each, situation.shape), each.serves(situation.shape));
  const std::string& direct = situation.direct_name;
  if (!direct.empty() && selection.algorithm != nullptr) add(direct, situation.direct);
  return fmt::format(
      "{}, {}{}{}",
      selection.algorithm != nullptr ? full_name(*selection.algorithm, selection.shape) : direct,
      selection.because, also, not_these);
}

}  // namespace penstock::coll
