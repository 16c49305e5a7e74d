// SPDX-License-Identifier: Apache-2.0
// Several ranks on one buffer: every byte of it, and that none of them uses it while the program of
// another one may.
#include "coll/team_allreduce.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "unit/coll/numbers_of_ranks.hpp"
#include "unit/coll/trial.hpp"

namespace penstock::coll {
namespace {

Reference reference_of(const Algorithm& algorithm) {
  return algorithm.name == "doubling" ? by_doubling : by_rank;
}

Shape of_teams(int teams, int ranks, int kind, std::size_t count) {
  Shape shape = placed(teams, ranks, kind);
  shape.element = sizeof(float);
  shape.count = count;
  return shape;
}

TEST(TeamAllreduce, EachTeamIsCountedOnceInTheOrderOfTheAlgorithm) {
  for (const int ranks : numbers_of_ranks())
    for (const int teams : divisors(ranks))
      for (int kind = 0; kind < 3; ++kind)
        for (const std::size_t count : {0, 1, 7, 100})
          for (const Algorithm& algorithm : algorithms(CollectiveKind::team_allreduce))
            for (std::uint32_t seed = 0; seed < 2; ++seed) {
              Shape shape = of_teams(teams, ranks / teams, kind, count);
              shape.in_place = (kind + teams) % 2 == 0;
              const Trial trial = team_allreduce_trial(shape, reference_of(algorithm));
              EXPECT_EQ(run(trial, trial.schedules(algorithm), seed), "")
                  << algorithm.name << ", " << ranks << " ranks in " << teams << " teams, count "
                  << count << ", in place " << shape.in_place << ", seed " << seed;
            }
}

std::size_t meetings(const Phase& phase) {
  return std::count_if(phase.sends.begin(), phase.sends.end(),
                       [](const Send& send) { return send.region.bytes == 0; });
}

std::size_t bytes_sent(const Schedule& schedule) {
  std::size_t bytes = 0;
  for (const Phase& phase : schedule.phases)
    for (const Send& send : phase.sends) bytes += send.region.bytes;
  return bytes;
}

// As many elements as all sizes divide.
TEST(TeamAllreduce, SendsAndTemporariesAsInTheTable) {
  for (const int ranks : numbers_of_ranks())
    for (const int teams : divisors(ranks)) {
      const Shape shape = of_teams(teams, ranks / teams, 2, 16U * ranks);
      const std::size_t S = shape.bytes(), n = ranks, T = teams, k = n / T;
      for (int rank = 0; rank < ranks; ++rank) {
        const Schedule schedule = two_shot_team_allreduce(shape, rank);
        EXPECT_EQ(meetings(schedule.phases.front()), k - 1);
        EXPECT_EQ(meetings(schedule.phases.back()), k - 1);
        EXPECT_EQ(bytes_sent(schedule), 2 * (T - 1) * S / n);
        EXPECT_EQ(schedule.temporary, (T - 1) * S / n);
        EXPECT_LE(doubling_team_allreduce(shape, rank).temporary, S / k);
      }
    }
}

using Schedules = std::vector<Schedule>;
using Defect = std::function<void(Schedules&)>;

// How many seeds of 32 find a defect that is planted. Without it, none must.
int found(std::string_view name, bool in_place, const Defect& plant) {
  Shape shape = of_teams(3, 2, 0, 60);
  shape.in_place = in_place;
  const Algorithm& algorithm = *find_algorithm(CollectiveKind::team_allreduce, name);
  const Trial trial = team_allreduce_trial(shape, reference_of(algorithm));
  Schedules schedules = trial.schedules(algorithm);
  EXPECT_EQ(run(trial, schedules, 0) + run(trial, schedules, 1), "");
  plant(schedules);
  int count = 0;
  for (std::uint32_t seed = 0; seed < 32; ++seed)
    count += run(trial, schedules, seed).empty() ? 0 : 1;
  return count;
}

void leave_out(Phase& phase) {
  phase.sends.clear();
  phase.receives.clear();
}
void use_the_buffer_at_once(Schedules& schedules) {
  for (Schedule& schedule : schedules) leave_out(schedule.phases.front());
}
void end_alone(Schedules& schedules) {
  for (Schedule& schedule : schedules) leave_out(schedule.phases.back());
}
void receive_at_once(Schedules& schedules) {
  for (Schedule& schedule : schedules)
    for (Phase& phase : schedule.phases)
      for (Receive& receive : phase.receives) receive.start = 0;
}
void end_alone_in_one_team(Schedules& schedules) {
  leave_out(schedules[0].phases.back());
  leave_out(schedules[1].phases.back());
}

TEST(TeamAllreduce, DefectsAreFound) {
  constexpr int half = 16;
  for (const std::string_view name : {"two-shot", "doubling"})
    for (const bool in_place : {false, true}) {
      EXPECT_GT(found(name, in_place, use_the_buffer_at_once), half) << name << in_place;
      EXPECT_GT(found(name, in_place, end_alone), half) << name << in_place;
      EXPECT_GT(found(name, in_place, end_alone_in_one_team), 0) << name << in_place;
    }
  EXPECT_GT(found("two-shot", false, receive_at_once), half);
}

}  // namespace
}  // namespace penstock::coll
