// SPDX-License-Identifier: Apache-2.0
#include "common/window_targets.hpp"

#include <algorithm>

#include "common/exchange.hpp"

namespace penstock::apps {

std::vector<MPI_Aint> target_displacements(const std::vector<Neighbour>& neighbours,
                                           const SideBuffers& in) {
  std::vector<MPI_Aint> displacements(neighbours.size()), own(neighbours.size());
  std::vector<MPI_Request> requests(2 * neighbours.size());
  for (std::size_t i = 0; i < neighbours.size(); ++i) {
    const auto& [direction, rank, values] = neighbours[i];
    own[i] = in.message(neighbours[i]).data() - in.all().data();
    MPI_Irecv(&displacements[i], 1, MPI_AINT, rank, tag_of(direction, 0), MPI_COMM_WORLD,
              &requests[2 * i]);
    MPI_Isend(&own[i], 1, MPI_AINT, rank, tag_of(opposite(direction), 0), MPI_COMM_WORLD,
              &requests[2 * i + 1]);
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  return displacements;
}

Group group_of(const std::vector<Neighbour>& neighbours) {
  std::vector<int> ranks;
  ranks.reserve(neighbours.size());
  for (const Neighbour& each : neighbours) ranks.push_back(each.rank);
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return {MPI_COMM_WORLD, ranks};
}

}  // namespace penstock::apps
