// SPDX-License-Identifier: Apache-2.0
#include "coll/grouped_alltoall.hpp"

#include <algorithm>

#include "coll/rearrange.hpp"

namespace penstock::coll {

namespace {

// Blocks are named by indices from the slowest to the fastest, in capitals of the source:
//   G a group, M a leader in its group, R a rank of a leader; g, m, r of the destination.
// A line is what one rank sends or receives in all; a leader holds the lines of its ranks.
class GroupedAlltoall {
 public:
  GroupedAlltoall(const Shape& shape, int rank, int group, int leader);
  Schedule schedule();

 private:
  struct Peers {
    int count;
    int mine;
  };

  void gather();
  void exchange_across_groups();
  void exchange_inside_group();
  void scatter();

  void arrange_own_line();
  void exchange(const Region& from, Peers peers, int first, int distance);
  void deliver_own_line(const Region& line);
  BlockOrder final_order() const;
  bool leads() const { return member_ == 0; }
  int rank_of(int position) const { return order_[position]; }

  const Shape& shape_;
  const std::vector<int> order_;
  const int position_;  // mine in that order
  const int leader_ranks_;
  const Peers groups_, leaders_;  // the latter of my group
  const int first_;               // position of my leader
  const int member_;              // my number among its ranks
  const std::size_t line_bytes_;
  ScheduleBuilder builder_;
  // A leader receives into `arrived_` and sends from `leaving_`. Where each rank is a leader, the
  // output serves for the latter until the end. Others have their line alone in a temporary.
  Region arrived_, leaving_, line_;
};

GroupedAlltoall::GroupedAlltoall(const Shape& shape, int rank, int group, int leader)
    : shape_(shape),
      order_(node_order(shape)),
      position_(static_cast<int>(std::find(order_.begin(), order_.end(), rank) - order_.begin())),
      leader_ranks_(leader),
      groups_{shape.ranks / group, position_ / group},
      leaders_{group / leader, position_ % group / leader},
      first_(position_ / leader * leader),
      member_(position_ % leader),
      line_bytes_(shape.ranks * shape.bytes()) {
  const std::size_t held = leader * line_bytes_;
  if (leads()) arrived_ = builder_.temporary(held);
  if (leads()) leaving_ = leader == 1 ? output(held) : builder_.temporary(held);
}

Schedule GroupedAlltoall::schedule() {
  gather();
  exchange_across_groups();
  exchange_inside_group();
  scatter();
  return builder_.finish();
}

// My line in node order: [g][m][r].
void GroupedAlltoall::arrange_own_line() {
  const Region source = shape_.source(line_bytes_);
  if (!leads()) {
    line_ = keeps_order(order_) ? source : builder_.temporary(line_bytes_);
    rearrange(builder_, source, line_, order_);
  } else if (leader_ranks_ > 1) {
    rearrange(builder_, source, arrived_.part(0, line_bytes_), order_);
  } else if (keeps_order(order_)) {
    leaving_ = source;
  } else {
    const Region from = shape_.in_place ? arrived_ : source;
    builder_.copy(source, from);
    rearrange(builder_, from, leaving_, order_);
  }
}

// A leader has [R][g][m][r] then, and sends [g][R][m][r].
void GroupedAlltoall::gather() {
  arrange_own_line();
  if (leader_ranks_ == 1) return;
  if (leads()) {
    for (int member = 1; member < leader_ranks_; ++member)
      builder_.receive(rank_of(first_ + member), arrived_.item(member, line_bytes_));
  } else {
    builder_.send(rank_of(first_), line_);
  }
  builder_.next_phase();
  if (leads()) builder_.permute(arrived_, leaving_, leader_ranks_, groups_.count);
}

// Part i of `from` goes to the leader at position first + i * distance, whose part for me arrives
// as number i.
void GroupedAlltoall::exchange(const Region& from, Peers peers, int first, int distance) {
  const std::size_t part = from.bytes / peers.count;
  builder_.copy(from.item(peers.mine, part), arrived_.item(peers.mine, part));
  for (int step = 1; step < peers.count; ++step) {
    const int next = (peers.mine + step) % peers.count;
    const int before = (peers.mine + peers.count - step) % peers.count;
    builder_.receive(rank_of(first + before * distance), arrived_.item(before, part));
    builder_.send(rank_of(first + next * distance), from.item(next, part));
  }
}

// [g][R][m][r] leaves, [G][R][m][r] arrives.
void GroupedAlltoall::exchange_across_groups() {
  if (!leads()) return;
  const int group_ranks = leaders_.count * leader_ranks_;
  exchange(leaving_, groups_, leaders_.mine * leader_ranks_, group_ranks);
}

// [m][G][R][r] leaves, [M][G][R][r] arrives.
void GroupedAlltoall::exchange_inside_group() {
  if (leaders_.count == 1) return;
  builder_.next_phase();
  if (!leads()) return;
  leaving_ = leader_ranks_ == 1 ? output(line_bytes_) : leaving_;
  builder_.permute(arrived_, leaving_, shape_.ranks / leaders_.count, leaders_.count);
  exchange(leaving_, leaders_, groups_.mine * leaders_.count * leader_ranks_, leader_ranks_);
}

// A leader sends [r][M][G][R].
void GroupedAlltoall::scatter() {
  builder_.next_phase();
  if (leader_ranks_ == 1) return deliver_own_line(arrived_);
  if (leads()) {
    builder_.permute(arrived_, leaving_, shape_.ranks, leader_ranks_);
    for (int member = 1; member < leader_ranks_; ++member)
      builder_.send(rank_of(first_ + member), leaving_.item(member, line_bytes_));
    return deliver_own_line(leaving_.part(0, line_bytes_));
  }
  if (keeps_order(final_order())) {
    builder_.receive(rank_of(first_), output(line_bytes_));
  } else {
    if (line_.buffer != Buffer::temporary) line_ = builder_.temporary(line_bytes_);
    builder_.receive(rank_of(first_), line_);
    builder_.next_phase();
    deliver_own_line(line_);
  }
}

void GroupedAlltoall::deliver_own_line(const Region& line) {
  rearrange(builder_, line, output(line_bytes_), final_order());
}

// My line has arrived as [M][G][R] and is wanted by rank.
BlockOrder GroupedAlltoall::final_order() const {
  BlockOrder order(shape_.ranks);
  int arrived = 0;
  for (int leader = 0; leader < leaders_.count; ++leader)
    for (int group = 0; group < groups_.count; ++group)
      for (int member = 0; member < leader_ranks_; ++member)
        order[rank_of((group * leaders_.count + leader) * leader_ranks_ + member)] = arrived++;
  return order;
}

Schedule grouped(const Shape& shape, int rank, int group, int leader) {
  return GroupedAlltoall(shape, rank, group, leader).schedule();
}

}  // namespace

Schedule hierarchical_alltoall(const Shape& shape, int rank) {
  return grouped(shape, rank, node_ranks(shape), node_ranks(shape));
}

Schedule multileader_alltoall(const Shape& shape, int rank) {
  return grouped(shape, rank, shape.leader, shape.leader);
}

Schedule node_aware_alltoall(const Shape& shape, int rank) {
  return grouped(shape, rank, node_ranks(shape), 1);
}

Schedule locality_aware_alltoall(const Shape& shape, int rank) {
  return grouped(shape, rank, shape.group, 1);
}

Schedule multileader_locality_alltoall(const Shape& shape, int rank) {
  return grouped(shape, rank, node_ranks(shape), shape.leader);
}

}  // namespace penstock::coll
