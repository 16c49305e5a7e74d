// SPDX-License-Identifier: Apache-2.0
#include "comb/cycle.hpp"

namespace penstock::comb {

std::vector<Group> groups_of(const std::vector<apps::Neighbour>& neighbours,
                             std::optional<std::size_t> cutoff) {
  Group together = 0;
  std::vector<Group> groups;
  for (const apps::Neighbour& neighbour : neighbours) {
    if (cutoff && neighbour.values >= *cutoff)
      groups.push_back(group_of(neighbour.direction));
    else
      together |= group_of(neighbour.direction);
  }
  if (together != 0) groups.push_back(together);
  return groups;
}

}  // namespace penstock::comb
