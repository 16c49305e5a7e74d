// SPDX-License-Identifier: Apache-2.0
// What a step of a halo exchange takes on so many ranks, from what one message and one GPU's step
// take. Nothing is fitted.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace penstock::tool {

// Of which a model is made.
inline constexpr int most_ranks = 1 << 17;

// Of what was measured: straight lines between the points.
class Curve {
 public:
  using Points = std::vector<std::pair<double, double>>;  // ascending, at least one

  explicit Curve(Points points) : points_(std::move(points)) {}
  // Of messages: below the first point as there, beyond the last one on by its slope.
  double latency(double bytes) const;
  // Us that a byte more costs among the largest.
  double slope() const;
  // Of work: beyond the points in proportion to what is to be done. Below them, too, or along the
  // first line, which has what a step takes without any cells.
  double work(double cells, bool straight) const;

 private:
  double between(double x) const;

  Points points_;
};

// How messages go, with the us of one by its bytes: to a rank of the same node, and of another.
struct Way {
  std::string name;
  Curve inside, between;
  Curve compute;         // us of a step of one rank, by cells
  double beside_us = 0;  // of a step of several ranks, whatever its messages and cells are
};

struct Machine {
  std::vector<Way> ways;
  int ranks_a_node = 1;   // consecutive ones
  int links_a_node = 1;   // each as fast as the latencies between nodes say
  bool straight = false;  // see Curve::work()
};

struct Problem {
  std::vector<int> cells;  // by dimension: two or three; periodic
  double cell_bytes = 8;
  int ghosts = 1;  // layers of cells
};

struct StepTime {
  double compute_us = 0;
  double exchange_us = 0;  // of the slowest rank
  double us = 0;           // together
};

struct Layout {
  std::vector<int> grid;        // ranks by dimension
  double cells = 0;             // of the largest rank
  double largest_bytes = 0;     // message
  std::vector<StepTime> times;  // by way
};

// Whether in some grid of so many ranks each has a cell.
bool has_grid(const Problem& problem, int ranks);
// The grid of ranks has the smallest faces. Throws std::runtime_error where has_grid() is false.
Layout model_step(const Machine& machine, const Problem& problem, int ranks);

}  // namespace penstock::tool
