// SPDX-License-Identifier: Apache-2.0
// All algorithms by name, and which one serves.
#pragma once

#include <cstddef>
#include <iterator>
#include <span>
#include <string_view>

#include "base/verdict.hpp"
#include "coll/shape.hpp"

namespace penstock::coll {

enum class CollectiveKind {
  barrier,
  bcast,
  reduce,
  allgather,
  alltoall,
  alltoallv,
  allreduce,
  reduce_scatter_block,
  neighbor_alltoall,
  neighbor_alltoallv,
  team_allreduce
};

// By the values of the kinds.
inline constexpr std::string_view collective_names[] = {"barrier",
                                                        "bcast",
                                                        "reduce",
                                                        "allgather",
                                                        "alltoall",
                                                        "alltoallv",
                                                        "allreduce",
                                                        "reduce_scatter_block",
                                                        "neighbor_alltoall",
                                                        "neighbor_alltoallv",
                                                        "team_allreduce"};

constexpr std::string_view name_of(CollectiveKind kind) noexcept {
  const auto index = static_cast<std::size_t>(kind);
  return index < std::size(collective_names) ? collective_names[index] : "collective";
}

struct Algorithm {
  std::string_view name;
  base::Verdict (*serves)(const Shape& shape);
  Schedule (*schedule)(const Shape& shape, int rank);
  int Shape::*width = nullptr;  // the one of the shape's numbers that it has
};

// The first one is flat: it serves wherever the ranks are.
std::span<const Algorithm> algorithms(CollectiveKind collective);

// Null: the collective has none of this name.
const Algorithm* find_algorithm(CollectiveKind collective, std::string_view name) noexcept;

// Beside these, those without messages (coll/direct.hpp). The first one may be taken where
// none is wished for; empty: none serves that collective.
std::span<const std::string_view> direct_names(CollectiveKind collective) noexcept;
bool is_direct(CollectiveKind collective, std::string_view name) noexcept;

}  // namespace penstock::coll
