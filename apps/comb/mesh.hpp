// SPDX-License-Identifier: Apache-2.0
// Zones and ghosts of one rank, for the host and for kernels.
#pragma once

#include <cstddef>

#include "../common/box.hpp"
#include "../common/sides.hpp"

namespace penstock::comb {

using apps::Box;
using apps::directions;
using apps::nowhere;
using apps::opposite;
using apps::part_of;
using apps::Sides;

// Some variables on a box of zones with ghosts around it. Places count from the first ghost.
struct Mesh {
  int zones[3];      // of the rank
  int ghosts[3];     // on each side
  int first[3];      // zone of the whole mesh
  int whole[3];      // zones of the whole mesh, whose ends meet where a rank's neighbours do
  bool meets[3][2];  // whether there is a neighbour on the lower and on the upper side
  int variables;

  PENSTOCK_ANYWHERE int extent(int d) const { return zones[d] + 2 * ghosts[d]; }
  // Of one variable, with ghosts.
  PENSTOCK_ANYWHERE std::size_t volume() const {
    return static_cast<std::size_t>(extent(0)) * static_cast<std::size_t>(extent(1)) *
           static_cast<std::size_t>(extent(2));
  }
  PENSTOCK_ANYWHERE std::size_t offset(const int (&at)[3]) const {
    return (static_cast<std::size_t>(at[2]) * static_cast<std::size_t>(extent(1)) +
            static_cast<std::size_t>(at[1])) *
               static_cast<std::size_t>(extent(0)) +
           static_cast<std::size_t>(at[0]);
  }
};

PENSTOCK_ANYWHERE inline bool has_neighbour(const Mesh& mesh, int direction) {
  for (int d = 0; d < 3; ++d) {
    const int part = part_of(direction, d);
    if (part != 0 && (mesh.ghosts[d] == 0 || !mesh.meets[d][part > 0])) return false;
  }
  return direction != nowhere;
}

// The rank's zones that are ghosts of the neighbour in that direction.
PENSTOCK_ANYWHERE inline Box sent_box(const Mesh& mesh, int direction) {
  Box box;
  for (int d = 0; d < 3; ++d) {
    const int part = part_of(direction, d);
    box.low[d] = part > 0 ? mesh.zones[d] : mesh.ghosts[d];
    box.count[d] = part == 0 ? mesh.zones[d] : mesh.ghosts[d];
  }
  return box;
}

// The ghosts that the neighbour in that direction has as zones.
PENSTOCK_ANYWHERE inline Box ghost_box(const Mesh& mesh, int direction) {
  Box box;
  for (int d = 0; d < 3; ++d) {
    const int part = part_of(direction, d);
    box.low[d] = part < 0 ? 0 : part == 0 ? mesh.ghosts[d] : mesh.ghosts[d] + mesh.zones[d];
    box.count[d] = part == 0 ? mesh.zones[d] : mesh.ghosts[d];
  }
  return box;
}

// In which direction a place lies: nowhere for the rank's own zones.
PENSTOCK_ANYWHERE inline int direction_of(const Mesh& mesh, const int (&at)[3]) {
  int direction = nowhere;
  for (int d = 0, step = 1; d < 3; ++d, step *= 3) {
    if (at[d] < mesh.ghosts[d]) direction -= step;
    if (at[d] >= mesh.ghosts[d] + mesh.zones[d]) direction += step;
  }
  return direction;
}

// Ghosts before an exchange; no zone has such a value.
constexpr double sentinel = -1;

// The number of a zone in the whole mesh, or of the zone that a ghost stands for, with the variable
// and the cycle: so a value of another zone, variable or cycle is a wrong one, up to 64 of these.
PENSTOCK_ANYWHERE inline double zone_value(const Mesh& mesh, const int (&at)[3], int variable,
                                           int cycle) {
  double id = 0;
  for (int d = 2; d >= 0; --d) {
    const int place = mesh.first[d] + at[d] - mesh.ghosts[d] + mesh.whole[d];
    id = id * mesh.whole[d] + place % mesh.whole[d];
  }
  return (id * 64 + variable % 64) * 64 + cycle % 64;
}

// What a place holds before an exchange.
PENSTOCK_ANYWHERE inline double value_before(const Mesh& mesh, const int (&at)[3], int variable,
                                             int cycle) {
  return direction_of(mesh, at) == nowhere ? zone_value(mesh, at, variable, cycle) : sentinel;
}

// What it must hold afterwards; without messages ghosts get the zeros of buffers that nothing came
// into.
PENSTOCK_ANYWHERE inline double value_after(const Mesh& mesh, const int (&at)[3], int variable,
                                            int cycle, bool with_messages) {
  const int direction = direction_of(mesh, at);
  if (direction == nowhere) return zone_value(mesh, at, variable, cycle);
  if (!has_neighbour(mesh, direction)) return sentinel;
  return with_messages ? zone_value(mesh, at, variable, cycle) : 0.0;
}

// The place of an element of a message that holds `box` of each variable, the first variable first;
// an offset into the values.
PENSTOCK_ANYWHERE inline std::size_t place_in(const Mesh& mesh, const Box& box, unsigned number) {
  int at[3];
  box.at(number % box.size(), at);
  return number / box.size() * mesh.volume() + mesh.offset(at);
}

}  // namespace penstock::comb
