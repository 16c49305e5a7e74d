// SPDX-License-Identifier: Apache-2.0
#include "penstock/step_model.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <utility>

namespace penstock::tool {
namespace {

using Grid = std::vector<int>;

double cells_of(const Problem& problem, const Grid& grid, std::size_t dimension) {
  return std::ceil(static_cast<double>(problem.cells[dimension]) / grid[dimension]);
}

double faces_of(const Problem& problem, const Grid& grid) {
  double faces = 0;
  for (std::size_t across = 0; across < grid.size(); ++across) {
    if (grid[across] == 1) continue;
    double face = 1;
    for (std::size_t along = 0; along < grid.size(); ++along)
      if (along != across) face *= cells_of(problem, grid, along);
    faces += face;
  }
  return faces;
}

// Of two with equal faces the one that is nearer to a square.
bool is_better(const Problem& problem, const Grid& grid, const Grid& than) {
  if (than.empty()) return true;
  const auto cost = [&](const Grid& each) {
    return std::pair(faces_of(problem, each), *std::max_element(each.begin(), each.end()));
  };
  return cost(grid) < cost(than);
}

// Tries all grids in which each rank has a cell.
void find_grid(const Problem& problem, int ranks, Grid& grid, Grid& best) {
  const int cells = problem.cells[grid.size()];
  if (grid.size() + 1 == problem.cells.size()) {
    if (ranks > cells) return;
    grid.push_back(ranks);
    if (is_better(problem, grid, best)) best = grid;
    grid.pop_back();
    return;
  }
  for (int part = 1; part <= std::min(ranks, cells); ++part) {
    if (ranks % part != 0) continue;
    grid.push_back(part);
    find_grid(problem, ranks / part, grid, best);
    grid.pop_back();
  }
}

struct Message {
  int to;
  double bytes;
};

class Ranks {
 public:
  Ranks(const Problem& problem, const Grid& grid) : problem_(problem), grid_(grid) {}

  // To the neighbours in all directions but to the rank itself.
  std::vector<Message> messages_of(int rank) const {
    std::vector<Message> messages;
    int directions = 1;
    for (std::size_t i = 0; i < grid_.size(); ++i) directions *= 3;
    for (int direction = 0; direction < directions; ++direction) {
      const Message message = message_to(rank, direction);
      if (message.to != rank) messages.push_back(message);
    }
    return messages;
  }

 private:
  Message message_to(int rank, int direction) const {
    Message message{0, problem_.cell_bytes};
    int stride = 1;
    for (std::size_t i = 0; i < grid_.size(); ++i) {
      const int step = direction % 3 - 1;
      const int place = (rank / stride) % grid_[i];
      message.to += (place + step + grid_[i]) % grid_[i] * stride;
      message.bytes *= step == 0 ? cells_of(problem_, grid_, i) : problem_.ghosts;
      stride *= grid_[i];
      direction /= 3;
    }
    return message;
  }

  const Problem& problem_;
  const Grid& grid_;
};

// Messages of all ranks are under way at once. Each rank waits for its slowest one, and for what
// its messages, and those of its node, have to wait for each other.
class Exchange {
 public:
  Exchange(const Machine& machine, const Ranks& ranks, int count) : machine_(machine) {
    for (int rank = 0; rank < count; ++rank) messages_.push_back(ranks.messages_of(rank));
    for (int rank = 0; rank < count; ++rank)
      for (const Message& message : messages_[static_cast<std::size_t>(rank)]) {
        largest_ = std::max(largest_, message.bytes);
        if (node_of(message.to) == node_of(rank)) continue;
        leaving_.resize(std::max(leaving_.size(), node_of(rank) + 1));
        leaving_[node_of(rank)] += message.bytes;
      }
  }

  double largest_message() const { return largest_; }

  double slowest_us(const Way& way) const {
    double slowest = 0;
    for (std::size_t rank = 0; rank < messages_.size(); ++rank)
      slowest = std::max(slowest, of_rank(rank, way));
    return slowest;
  }

 private:
  std::size_t node_of(int rank) const {
    return static_cast<std::size_t>(rank / machine_.ranks_a_node);
  }

  double of_rank(std::size_t rank, const Way& way) const {
    const std::size_t node = node_of(static_cast<int>(rank));
    double slowest = 0, inside = 0, between = 0, first_inside = 0, first_between = 0;
    for (const Message& message : messages_[rank]) {
      const bool leaves = node_of(message.to) != node;
      const Curve& curve = leaves ? way.between : way.inside;
      slowest = std::max(slowest, curve.latency(message.bytes));
      (leaves ? between : inside) += message.bytes;
      double& first = leaves ? first_between : first_inside;
      first = std::max(first, message.bytes);
    }
    if (between > 0) between = std::max(between, leaving_[node] / machine_.links_a_node);
    // The largest one's own bytes are in its latency.
    return slowest + std::max((inside - first_inside) * way.inside.slope(),
                              (between - first_between) * way.between.slope());
  }

  const Machine& machine_;
  std::vector<std::vector<Message>> messages_;
  std::vector<double> leaving_;  // bytes, by node
  double largest_ = 0;
};

}  // namespace

double Curve::between(double x) const {
  const auto above =
      std::lower_bound(points_.begin(), points_.end(), x,
                       [](const auto& point, double at) { return point.first < at; });
  if (above == points_.begin()) return above->second;
  const auto [x0, y0] = *std::prev(above);
  const auto [x1, y1] = *above;
  return y0 + (y1 - y0) * (x - x0) / (x1 - x0);
}

double Curve::slope() const {
  if (points_.size() < 2) return 0;
  const auto [x0, y0] = points_[points_.size() - 2];
  const auto [x1, y1] = points_.back();
  return std::max(0.0, (y1 - y0) / (x1 - x0));
}

double Curve::latency(double bytes) const {
  const auto [last, us] = points_.back();
  return bytes > last ? us + (bytes - last) * slope() : between(bytes);
}

double Curve::work(double cells, bool straight) const {
  const auto [first, least] = points_.front();
  const auto [last, most] = points_.back();
  if (cells < first && straight && points_.size() > 1) {
    const auto [second, more] = points_[1];
    return std::max(0.0, least - (more - least) * (first - cells) / (second - first));
  }
  if (cells < first) return least * cells / first;
  return cells > last ? most * cells / last : between(cells);
}

bool has_grid(const Problem& problem, int ranks) {
  Grid begun, best;
  find_grid(problem, ranks, begun, best);
  return !best.empty();
}

Layout model_step(const Machine& machine, const Problem& problem, int ranks) {
  Layout layout;
  Grid begun;
  find_grid(problem, ranks, begun, layout.grid);
  if (layout.grid.empty())
    throw std::runtime_error(
        fmt::format("{} ranks cannot share {} cells so that each has one: give ranks, and "
                    "published ones, that fit",
                    ranks, fmt::join(problem.cells, " x ")));
  layout.cells = 1;
  for (std::size_t i = 0; i < layout.grid.size(); ++i)
    layout.cells *= cells_of(problem, layout.grid, i);
  const Exchange exchange(machine, Ranks(problem, layout.grid), ranks);
  layout.largest_bytes = exchange.largest_message();
  for (const Way& way : machine.ways) {
    StepTime time{way.compute.work(layout.cells, machine.straight), exchange.slowest_us(way), 0};
    time.us = time.compute_us + time.exchange_us + (ranks > 1 ? way.beside_us : 0);
    layout.times.push_back(time);
  }
  return layout;
}

}  // namespace penstock::tool
