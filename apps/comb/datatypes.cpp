// SPDX-License-Identifier: Apache-2.0
#include "comb/datatypes.hpp"

namespace penstock::comb {
namespace {

// MPI counts the slowest dimension first.
apps::Subarray subarray(const Mesh& mesh, const Box& box) {
  return {{mesh.variables, mesh.extent(2), mesh.extent(1), mesh.extent(0)},
          {mesh.variables, box.count[2], box.count[1], box.count[0]},
          {0, box.low[2], box.low[1], box.low[0]}};
}

}  // namespace

apps::MessagesInPlace messages_in_place(const Mesh& mesh, double* values,
                                        const std::vector<apps::Neighbour>& neighbours) {
  apps::MessagesInPlace messages{values, {}, {}};
  for (const apps::Neighbour& neighbour : neighbours) {
    messages.sent.push_back(subarray(mesh, sent_box(mesh, neighbour.direction)));
    messages.received.push_back(subarray(mesh, ghost_box(mesh, neighbour.direction)));
  }
  return messages;
}

}  // namespace penstock::comb
