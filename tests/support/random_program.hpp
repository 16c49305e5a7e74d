// SPDX-License-Identifier: Apache-2.0
// A random program for all ranks, from one seed: messages between random ranks, and what each rank
// enqueues on which of its lanes, in the order of its calls. With each enqueue replaced by
// MPI_Start or MPI_Wait it ends, also where MPI buffers nothing: it is made as such a program runs,
// one call of one rank at a time, and waits only for what the peer has started by then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "support/device.hpp"

namespace penstock::test {

struct RandomEdge {
  int source = 0, destination = 0, tag = 0;
  bool backwards = false;  // in the communicator whose ranks count backwards
  Kind kind = Kind::standard;
  std::size_t bytes = 0;
  std::size_t extra = 0;  // by which the receive is longer
  std::size_t from_shift = 0, to_shift = 0;
  Memory from = Memory::ordinary, to = Memory::ordinary;
  std::uint64_t epochs = 0;
};

// Half 2 e is the send of edge e, half 2 e + 1 its receive.
inline std::size_t edge_of(std::size_t half) {
  return half / 2;
}
inline bool receives(std::size_t half) {
  return half % 2 == 1;
}

// One call: starts, or waits for, all these halves.
struct RandomCall {
  bool starts = false;
  std::vector<std::size_t> halves;
};

// Calls that a rank makes one behind the other, on one lane. A closed one waits for what it starts
// and for nothing else: so it may be a graph.
struct RandomBlock {
  std::size_t lane = 0;
  bool closed = false;
  std::vector<RandomCall> calls;
};

struct RandomStep {
  enum class Verb {
    enqueue,      // the calls of a block
    launch,       // the graph of a block
    finish,       // the host waits for the lane's queue, which has nothing open
    synchronize,  // the host waits for the lane's stream
    delay,        // a slow function on the lane
    crowd,        // beside the lanes, or on one: more blocks than the device has room for
    occupy        // the same: blocks that keep the whole device for as long
  };
  static constexpr std::size_t beside = ~std::size_t{0};  // in place of a lane

  Verb verb = Verb::enqueue;
  std::size_t block = 0;
  std::size_t lane = beside;
  unsigned microseconds = 0;
};

struct RandomRank {
  std::size_t lanes = 0;
  std::vector<RandomBlock> blocks;
  std::vector<RandomStep> steps;
};

struct RandomProgram {
  std::uint64_t seed = 0;
  std::vector<RandomEdge> edges;
  std::vector<RandomRank> ranks;
  // Each rank frees its requests as soon as it is through, and before its queues.
  bool parts_early = false;
};

// The same on every rank.
RandomProgram make_random_program(std::uint64_t seed, int ranks);

std::string text(const RandomProgram& program);
std::string text(const RandomEdge& edge);

}  // namespace penstock::test
