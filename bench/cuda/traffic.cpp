// SPDX-License-Identifier: Apache-2.0
#include "traffic.hpp"

#include "rank_grid.hpp"

namespace penstock::bench {

Traffic there_and_back(int rank, int ranks, std::size_t bytes, int count,
                       std::size_t answer_bytes) {
  Traffic traffic;
  traffic.rank = rank;
  traffic.ranks = ranks;
  const int pairs = ranks / 2;
  traffic.leads = rank < pairs;
  const int partner = traffic.leads ? rank + pairs : rank - pairs;
  const std::vector<Traffic::Part> there(static_cast<std::size_t>(count), {partner, bytes});
  const std::vector<Traffic::Part> back{{partner, answer_bytes}};
  traffic.sends = traffic.leads ? there : back;
  traffic.receives = traffic.leads ? back : there;
  return traffic;
}

Traffic at_once(int rank, int ranks, const std::vector<int>& partners,
                const std::vector<std::size_t>& sizes) {
  Traffic traffic;
  traffic.shape = Traffic::Shape::at_once;
  traffic.rank = rank;
  traffic.ranks = ranks;
  for (const int partner : partners)
    for (const std::size_t bytes : sizes) traffic.sends.push_back({partner, bytes});
  traffic.receives = traffic.sends;
  return traffic;
}

// By direction of travel: so between two ranks sends and receives have one order.
Traffic with_neighbours(int rank, int ranks, std::size_t edge) {
  Traffic traffic;
  traffic.shape = Traffic::Shape::at_once;
  traffic.rank = rank;
  traffic.ranks = ranks;
  for (const HaloMessage& each : halo_messages(rank, ranks, edge)) {
    traffic.sends.push_back({each.to, each.bytes});
    traffic.receives.push_back({each.from, each.bytes});
  }
  return traffic;
}

std::vector<std::size_t> halo_sizes(std::size_t edge) {
  std::vector<std::size_t> sizes(6, edge * edge * sizeof(double));
  sizes.insert(sizes.end(), 12, edge * sizeof(double));
  sizes.insert(sizes.end(), 8, sizeof(double));
  return sizes;
}

std::size_t bytes_of(const std::vector<Traffic::Part>& parts) {
  std::size_t bytes = 0;
  for (const auto& part : parts) bytes += part.bytes;
  return bytes;
}

}  // namespace penstock::bench
