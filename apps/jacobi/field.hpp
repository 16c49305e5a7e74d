// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <penstock/halo.hpp>
#include <vector>

#include "common/lane.hpp"
#include "common/memory.hpp"
#include "jacobi/sweep.hpp"

namespace penstock::jacobi {

struct Problem {
  halo::Index<3> cells{64, 64, 64};
  int iterations = 1000;  // at most
  double tolerance = 0.001;
  int interval = 10;  // iterations between two checks
};

// How far a solution has come: the largest change of each check, and the iterations.
struct Progress {
  std::uint64_t iterations = 0;
  std::vector<double> history;
  bool operator==(const Progress&) const = default;
};

// Whether `iterations` end with a check.
inline bool is_checked(const Problem& problem, int iterations) {
  return iterations % problem.interval == 0 || iterations == problem.iterations;
}

// The cells of one rank with a layer of ghosts around them, in two arrays that take turns: those
// after i iterations are in array i mod 2. All work is done by a lane.
class Field {
 public:
  using View = halo::View<double, 3>;

  Field(const Problem& problem, const halo::Grid<3>& grid, apps::DeviceKind device,
        apps::Lane& lane);

  // The beginning: cells are zero, what lies beyond the grid is as its side is. Blocks until it is
  // there.
  void load();
  View cells(int iterations) const noexcept;

  // In the order of the lane. An iteration with a check leaves its largest change in
  // state()->change; decide() goes by state()->largest.
  void sweep(int iterations) { lane_.launch(sweeps_[index(iterations)]); }
  void sweep_and_measure(int iterations) { lane_.launch(measured_sweeps_[index(iterations)]); }
  void decide(int iterations);
  // From the host, which has waited for the lane.
  void set_largest(double largest);

  // Where the sweeps run, not to be read by the host on a GPU.
  State* state() const noexcept { return reinterpret_cast<State*>(state_.data()); }

  // Block; the lane's work must have ended.
  State read_state() const;
  Progress progress() const;
  std::vector<double> read() const;  // own cells after the last iteration, in the grid's order

 private:
  static std::size_t index(int iterations) { return static_cast<std::size_t>(iterations % 2); }
  Block block(std::size_t array) const noexcept;
  void sweep_array(std::size_t from, bool checked);

  Problem problem_;
  halo::Grid<3> grid_;
  apps::DeviceKind device_;
  apps::Lane& lane_;
  halo::Index<3> extents_;  // with ghosts
  std::size_t array_cells_;
  apps::Memory arrays_;
  apps::Memory state_;
  std::array<apps::Lane::Kernel, 2> sweeps_;
  std::array<apps::Lane::Kernel, 2> measured_sweeps_;
  apps::Lane::Kernel decide_interval_;
  apps::Lane::Kernel decide_rest_;
};

}  // namespace penstock::jacobi
