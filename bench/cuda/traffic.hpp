// SPDX-License-Identifier: Apache-2.0
// Who sends what to whom in a round of a benchmark.
#pragma once

#include <cstddef>
#include <gpu_runtime.hpp>
#include <vector>

#include "bench_options.hpp"

namespace penstock::bench {

struct Traffic {
  enum class Shape {
    there_and_back,  // one of a pair sends, and the other one answers when all has come
    at_once          // every rank sends and receives together
  };
  struct Part {
    int peer;
    std::size_t bytes;
  };
  Shape shape = Shape::there_and_back;
  int rank = 0;
  int ranks = 2;
  bool leads = true;        // there_and_back: sends first
  std::vector<Part> sends;  // between two ranks in the same order at both
  std::vector<Part> receives;
  Order order = Order::sequential;
  bool graph = false;  // rounds are captured
  cudaStream_t stream = nullptr;
};

// `count` messages from each rank of the first half to its partner in the second half, and one
// back.
Traffic there_and_back(int rank, int ranks, std::size_t bytes, int count, std::size_t answer_bytes);
// One message of each size to each partner and as much back.
Traffic at_once(int rank, int ranks, const std::vector<int>& partners,
                const std::vector<std::size_t>& sizes);

// One message to each of the 26 neighbours in a periodic grid of ranks, and one from each.
Traffic with_neighbours(int rank, int ranks, std::size_t edge);

// The 26 neighbours of a cube of edge * edge * edge doubles: faces, edges and corners.
std::vector<std::size_t> halo_sizes(std::size_t edge);

std::size_t bytes_of(const std::vector<Traffic::Part>& parts);

}  // namespace penstock::bench
