// SPDX-License-Identifier: Apache-2.0
#include "coll/trees.hpp"

#include <algorithm>
#include <bit>

#include "coll/schedule_builder.hpp"

namespace penstock::coll {

namespace {

class Place {
 public:
  Place(const Shape& shape, int rank)
      : ranks_(shape.ranks), root_(shape.root), number_((rank - root_ + ranks_) % ranks_) {}

  bool is_root() const { return number_ == 0; }
  int depth() const { return std::popcount(number_); }
  int parent() const { return rank_of(number_ & (number_ - 1)); }

  // From the nearest on, whose tree is the smallest.
  std::vector<int> children() const {
    std::vector<int> ranks;
    const unsigned all = ranks_;
    const unsigned lowest = is_root() ? std::bit_ceil(all) : number_ & -number_;
    for (unsigned bit = 1; bit < lowest && number_ + bit < all; bit *= 2)
      ranks.push_back(rank_of(number_ + bit));
    return ranks;
  }

 private:
  int rank_of(unsigned number) const { return static_cast<int>((number + root_) % ranks_); }

  int ranks_, root_;
  unsigned number_;
};

int depth_of_tree(int ranks) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(ranks))) - 1;
}

}  // namespace

// A message has the depth of its sender for its phase. The largest tree is served first.
Schedule binomial_bcast(const Shape& shape, int rank) {
  ScheduleBuilder builder;
  const Place place(shape, rank);
  const Region all = output(shape.bytes());
  if (!place.is_root()) {
    builder.skip_phases(place.depth() - 1);
    builder.receive(place.parent(), all);
    builder.next_phase();
  }
  std::vector<int> children = place.children();
  std::reverse(children.begin(), children.end());
  for (const int child : children) builder.send(child, all);
  return builder.finish();
}

// The deepest ranks send in phase 0.
Schedule binomial_reduce(const Shape& shape, int rank) {
  ScheduleBuilder builder;
  const Place place(shape, rank);
  const bool from_output = shape.in_place && place.is_root();
  Region value{from_output ? Buffer::output : Buffer::input, 0, shape.bytes()};
  const int phase = depth_of_tree(shape.ranks) - place.depth();
  const std::vector<int> children = place.children();
  builder.skip_phases(children.empty() ? phase : phase - 1);
  std::vector<Region> values{value};
  for (const int child : children) {
    values.push_back(builder.temporary(shape.bytes()));
    builder.receive(child, values.back());
  }
  if (!children.empty()) {
    builder.next_phase();
    value = values[1];
  }
  if (place.is_root()) value = output(shape.bytes());
  builder.reduce(values, value);
  if (!place.is_root()) builder.send(place.parent(), value);
  return builder.finish();
}

}  // namespace penstock::coll
