// SPDX-License-Identifier: Apache-2.0
// What an algorithm is asked about: who takes part, where they are, and how much moves.
#pragma once

#include <cstddef>
#include <vector>

#include "base/verdict.hpp"
#include "coll/schedule.hpp"

namespace penstock::coll {

// In bytes, of the whole input or output.
struct Block {
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

// All members of a collective know the same, but for the blocks of uneven ones and the neighbours.
struct Shape {
  int ranks = 1;
  // Of each rank: its node, and its number among those of its node, both from 0 on. Of an allreduce
  // of teams: its team instead.
  std::vector<int> node, index;
  // Member 0 decides these three for all.
  int group = 1;   // ranks of a group
  int leader = 1;  // ranks of a leader
  int batch = 1;   // pairs of a rank that are under way at once
  int root = 0;
  bool in_place = false;
  std::size_t element = 1;  // bytes
  // Elements that a rank gives each rank: alltoall, allgather, reduce-scatter of a block. Else all
  // that it has.
  std::size_t count = 0;
  // Alltoallv: this rank's, by peer. Between neighbours: its edges, and who is at the other end of
  // each; the k-th one from a rank to another is the k-th of both.
  std::vector<Block> sends, receives;
  std::vector<int> destinations, sources;

  std::size_t bytes() const noexcept { return count * element; }
  // What this rank brings, all of it.
  Region source(std::size_t length) const noexcept {
    return {in_place ? Buffer::output : Buffer::input, 0, length};
  }
};

inline Region output(std::size_t length) {
  return {Buffer::output, 0, length};
}

// How many ranks each node has, where all have equally many, else 0.
int node_ranks(const Shape& shape);

int node_count(const Shape& shape);

// The ranks one node after the other, each by index. Position p stands on node p / node_ranks().
std::vector<int> node_order(const Shape& shape);

base::Verdict even_nodes(const Shape& shape);
base::Verdict even_groups(const Shape& shape);
base::Verdict even_leaders(const Shape& shape);

}  // namespace penstock::coll
