// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/exchange.hpp"
#include "faces/kernels.hpp"
#include "faces/rank_grid.hpp"

namespace penstock::faces {

// One share: every copy of a point gets the sum of all its copies.
class Share final : public apps::Work {
 public:
  Share(const RankGrid& grid, Kernels& kernels, bool with_inside)
      : kernels_(kernels), with_inside_(with_inside) {
    for (const int direction : grid.neighbours())
      neighbours_.push_back(
          {direction, grid.rank_at(direction), layout_of(grid.block(), direction).size()});
  }

  const std::vector<apps::Neighbour>& neighbours() const override { return neighbours_; }
  void pack(apps::Lane& lane, const Sides& to, int direction) override {
    kernels_.pack(lane, to, direction);
  }
  bool has_inside() const override { return with_inside_; }
  void compute_inside(apps::Lane& lane) override { kernels_.sum_inside(lane); }
  void unpack(apps::Lane& lane, const Sides& from, int direction) override {
    kernels_.unpack(lane, from, Sides{}, direction);
  }
  bool packs_ahead() const override { return true; }
  void unpack_and_pack(apps::Lane& lane, const Sides& from, const Sides& to,
                       int direction) override {
    kernels_.unpack(lane, from, to, direction);
  }

  // The points that a rank shares with the neighbour at an edge or a corner are shared with those
  // of its parts, too.
  bool needs(int region, int direction) const override { return is_part(direction, region); }

 private:
  Kernels& kernels_;
  bool with_inside_;
  std::vector<apps::Neighbour> neighbours_;
};

}  // namespace penstock::faces
