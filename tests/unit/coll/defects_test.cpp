// SPDX-License-Identifier: Apache-2.0
// Planted defects: each schedule is right, is changed in one place, and must be found wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "unit/coll/trial.hpp"

namespace penstock::coll {
namespace {

using Schedules = std::vector<Schedule>;
using Defect = std::function<void(Schedules&)>;

// How many seeds of 32 find it. Without it, none must.
int found(const Trial& trial, const Algorithm& algorithm, const Defect& plant) {
  Schedules schedules = trial.schedules(algorithm);
  EXPECT_EQ(run(trial, schedules, 0) + run(trial, schedules, 1), "");
  plant(schedules);
  int count = 0;
  for (std::uint32_t seed = 0; seed < 32; ++seed)
    count += run(trial, schedules, seed).empty() ? 0 : 1;
  return count;
}

int found_in_alltoall(std::string_view name, const Defect& plant, bool in_place = false) {
  Shape shape = placed(3, 4, 0);
  shape.leader = shape.group = 2;
  shape.count = 5;
  shape.in_place = in_place;
  const Algorithm& algorithm = *find_algorithm(CollectiveKind::alltoall, name);
  return found(alltoall_trial(shape), algorithm, plant);
}

int found_in_allreduce(std::string_view name, const Defect& plant) {
  Shape shape = placed(2, 3, 0);
  shape.element = sizeof(float);
  shape.count = 60;
  const Algorithm& algorithm = *find_algorithm(CollectiveKind::allreduce, name);
  const Reference reference = name == "two-shot" ? by_rank : by_doubling;
  return found(allreduce_trial(shape, reference), algorithm, plant);
}

// The first local step of that kind, on any rank.
template <class Step>
Step& first_step(Schedules& schedules) {
  for (Schedule& schedule : schedules)
    for (Phase& phase : schedule.phases)
      for (LocalStep& step : phase.steps)
        if (auto* const one = std::get_if<Step>(&step)) return *one;
  throw std::logic_error("there is no such step");
}

void swap_indices(Schedules& schedules) {
  Permute& permute = first_step<Permute>(schedules);
  std::swap(permute.rows, permute.columns);
}

// What belonged to two phases is one, on all ranks.
void merge_phases(Schedules& schedules, std::size_t phase) {
  for (Schedule& schedule : schedules) {
    if (schedule.phases.size() <= phase + 1) continue;
    Phase& first = schedule.phases[phase];
    Phase& second = schedule.phases[phase + 1];
    first.steps.insert(first.steps.end(), second.steps.begin(), second.steps.end());
    first.sends.insert(first.sends.end(), second.sends.begin(), second.sends.end());
    first.receives.insert(first.receives.end(), second.receives.begin(), second.receives.end());
    schedule.phases.erase(schedule.phases.begin() + phase + 1);
    for (std::size_t later = phase; later < schedule.phases.size(); ++later)
      for (Receive& receive : schedule.phases[later].receives)
        if (receive.start > phase) --receive.start;
  }
}

void merge_first_phases(Schedules& schedules) {
  merge_phases(schedules, 0);
}
void merge_second_phases(Schedules& schedules) {
  merge_phases(schedules, 1);
}

void start_receives_at_once(Schedules& schedules) {
  for (Schedule& schedule : schedules)
    for (Phase& phase : schedule.phases)
      for (Receive& receive : phase.receives) receive.start = 0;
}

// Of rank 1, in one phase and the next: nothing else has such messages.
void send_a_phase_later(Schedules& schedules) {
  std::vector<Phase>& phases = schedules[1].phases;
  phases.resize(phases.size() + 1);
  phases[1].sends.push_back(phases[0].sends.back());
  phases[0].sends.pop_back();
}

void leave_out_a_send(Schedules& schedules) {
  schedules[1].phases[0].sends.pop_back();
}
void send_twice(Schedules& schedules) {
  std::vector<Send>& sends = schedules[1].phases[0].sends;
  sends.push_back(sends.back());
}
void send_less(Schedules& schedules) {
  --schedules[1].phases[0].sends.front().region.bytes;
}
void receive_beside(Schedules& schedules) {
  ++schedules[1].phases[0].receives.front().region.offset;
}
void leave_out_a_step(Schedules& schedules) {
  for (Phase& phase : schedules[0].phases)
    if (!phase.steps.empty()) return phase.steps.pop_back();
}
void take_too_little(Schedules& schedules) {
  --schedules[0].temporary;
}
void write_beyond(Schedules& schedules) {
  ++first_step<Copy>(schedules).to.offset;
}
void send_from_output(Schedules& schedules) {
  for (Schedule& schedule : schedules)
    for (Phase& phase : schedule.phases) {
      phase.steps.clear();
      for (Send& send : phase.sends) send.region.buffer = Buffer::output;
    }
}
void change_order(Schedules& schedules) {
  Reduce& reduce = first_step<Reduce>(schedules);
  std::rotate(reduce.from.begin(), reduce.from.begin() + 1, reduce.from.end());
}

constexpr int all = 32;

TEST(CollectiveDefects, OfPermutesAndPhases) {
  for (const std::string_view name :
       {"hierarchical", "multileader", "node-aware", "locality-aware", "multileader-locality"}) {
    EXPECT_EQ(found_in_alltoall(name, swap_indices), all) << name;
    EXPECT_EQ(found_in_alltoall(name, merge_first_phases), all) << name;
    EXPECT_EQ(found_in_alltoall(name, merge_second_phases), all) << name;
    EXPECT_EQ(found_in_alltoall(name, leave_out_a_step), all) << name;
    EXPECT_EQ(found_in_alltoall(name, take_too_little), all) << name;
    EXPECT_EQ(found_in_alltoall(name, start_receives_at_once), all) << name;
  }
}

TEST(CollectiveDefects, OfMessages) {
  for (const std::string_view name : {"pairwise", "nonblocking", "node-aware"}) {
    EXPECT_EQ(found_in_alltoall(name, leave_out_a_send), all) << name;
    EXPECT_EQ(found_in_alltoall(name, send_twice), all) << name;
    EXPECT_EQ(found_in_alltoall(name, send_less), all) << name;
    EXPECT_EQ(found_in_alltoall(name, receive_beside), all) << name;
    EXPECT_EQ(found_in_alltoall(name, send_a_phase_later), all) << name;
    EXPECT_EQ(found_in_alltoall(name, write_beyond), all) << name;
  }
  EXPECT_EQ(found_in_alltoall("nonblocking", send_from_output, true), all);
}

TEST(CollectiveDefects, OfReductions) {
  EXPECT_EQ(found_in_allreduce("two-shot", change_order), all);
  EXPECT_EQ(found_in_allreduce("two-shot", merge_first_phases), all);
  EXPECT_EQ(found_in_allreduce("doubling", change_order), all);
  EXPECT_EQ(found_in_allreduce("doubling", merge_second_phases), all);
  EXPECT_EQ(found_in_allreduce("doubling", start_receives_at_once), all);
}

}  // namespace
}  // namespace penstock::coll
