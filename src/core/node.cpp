// SPDX-License-Identifier: Apache-2.0
#include "core/node.hpp"

#include <algorithm>
#include <iterator>

#include "core/library.hpp"
#include "core/transports.hpp"
#include "group/world.hpp"

namespace penstock::core {

int first_of_node(const std::vector<int>& members, Library& library) {
  const int self = library.world().rank();
  std::vector<int> node;
  std::copy_if(members.begin(), members.end(), std::back_inserter(node), [&](int member) {
    return member == self || (member >= 0 && library.transports().peer().reaches(member).yes);
  });
  std::sort(node.begin(), node.end());
  const std::size_t size = library.settings().node_ranks;
  if (size == 0) return node.front();
  const auto place =
      static_cast<std::size_t>(std::lower_bound(node.begin(), node.end(), self) - node.begin());
  return node[place - place % size];
}

}  // namespace penstock::core
