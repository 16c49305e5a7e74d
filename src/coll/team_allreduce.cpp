// SPDX-License-Identifier: Apache-2.0
// The ranks of a team have one buffer, and each combines a chunk of it with those of its index in
// the other teams. A mate's stream may still write the buffer before it gets here, and may read it
// as soon as it has passed: so all of a team meet before the first of them uses it, and again
// behind the last.
#include "coll/team_allreduce.hpp"

#include "coll/lanes.hpp"
#include "coll/reduction.hpp"

namespace penstock::coll {

namespace {

void meet(ScheduleBuilder& builder, const Members& team) {
  for (std::size_t mate = 0; mate < team.count(); ++mate)
    if (mate != team.self) builder.meet(team.ranks[mate]);
}

Schedule by_teams(const Shape& shape, int rank, Combine combine) {
  ScheduleBuilder builder;
  const Members team = node_members(shape, rank);
  const auto chunk_of = [&](const Region& whole) {
    return chunks(whole, shape.element, team.count())[team.self];
  };
  meet(builder, team);
  builder.next_phase();
  builder.buffers_are_free();
  combine(builder, lane_members(shape, rank), shape.element, chunk_of(shape.source(shape.bytes())),
          chunk_of(output(shape.bytes())));
  builder.next_phase();
  meet(builder, team);
  return builder.finish();
}

}  // namespace

Schedule two_shot_team_allreduce(const Shape& shape, int rank) {
  return by_teams(shape, rank, combine_two_shot);
}

Schedule doubling_team_allreduce(const Shape& shape, int rank) {
  return by_teams(shape, rank, combine_doubling);
}

}  // namespace penstock::coll
