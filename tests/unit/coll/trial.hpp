// SPDX-License-Identifier: Apache-2.0
// A collective of all ranks: what each has before it and must have after it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coll/algorithms.hpp"
#include "unit/coll/simulator.hpp"

namespace penstock::coll {

struct Trial {
  std::vector<Shape> shapes;  // by rank
  std::vector<RankMemory> before, after;
  std::vector<int> owners;  // whose memory each rank has; empty: each its own

  std::vector<Schedule> schedules(const Algorithm& algorithm) const;
};

Trial barrier_trial(const Shape& shape);
Trial bcast_trial(const Shape& shape);
Trial allgather_trial(const Shape& shape);
Trial alltoall_trial(const Shape& shape);
// Counts and displacements are random, with zeros, holes and no order.
Trial alltoallv_trial(const Shape& shape, std::uint32_t seed);
// Random edges, several between two ranks and of a rank with itself among them.
Trial neighbor_trial(const Shape& shape, std::uint32_t seed);
// How an algorithm combines the values of all ranks.
using Reference = float (*)(const Shape& shape, const std::vector<float>& values);
float by_rank(const Shape& shape, const std::vector<float>& values);
float by_doubling(const Shape& shape, const std::vector<float>& values);
Trial allreduce_trial(const Shape& shape, Reference reference);
// The memory of a team, which is a node, is that of its first rank.
Trial team_allreduce_trial(const Shape& shape, Reference reference);
Trial reduce_scatter_trial(const Shape& shape);
Trial reduce_trial(const Shape& shape, Reference reference);

// Says what is wrong first, or nothing. An odd seed makes sends synchronous.
std::string run(const Trial& trial, const std::vector<Schedule>& schedules, std::uint32_t seed);

// The ranks on so many nodes. 0: node after node; 1: one on each node, and again; else at random.
Shape placed(int nodes, int node_ranks, int kind);

}  // namespace penstock::coll
