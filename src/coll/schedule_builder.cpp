// SPDX-License-Identifier: Apache-2.0
#include "coll/schedule_builder.hpp"

#include <algorithm>
#include <utility>

namespace penstock::coll {

namespace {

bool steps_touch(const Phase& phase, const Region& region) {
  return std::any_of(phase.steps.begin(), phase.steps.end(),
                     [&](const LocalStep& step) { return touches(step, region); });
}

bool messages_touch(const Phase& phase, const Region& region) {
  const auto has = [&](const auto& message) { return overlap(message.region, region); };
  return std::any_of(phase.receives.begin(), phase.receives.end(), has) ||
         std::any_of(phase.sends.begin(), phase.sends.end(), has);
}

// From which phase on nothing else uses the region, from the first that may be to the given one.
std::size_t free_since(const std::vector<Phase>& phases, std::size_t first, std::size_t phase,
                       const Region& region) {
  while (phase > first && !steps_touch(phases[phase], region) &&
         !messages_touch(phases[phase - 1], region))
    --phase;
  return phase;
}

bool follows(const Region& last, const Region& next) {
  return last.buffer == next.buffer && last.end() == next.offset;
}

}  // namespace

Region ScheduleBuilder::temporary(std::size_t bytes) {
  constexpr std::size_t line = 64;
  const std::size_t offset = (temporary_ + line - 1) / line * line;
  if (bytes > 0) temporary_ = offset + bytes;
  return {Buffer::temporary, offset, bytes};
}

void ScheduleBuilder::copy(const Region& from, const Region& to) {
  if (from.bytes == 0 || from == to) return;
  std::vector<LocalStep>& steps = phases_.back().steps;
  auto* const last = steps.empty() ? nullptr : std::get_if<Copy>(&steps.back());
  if (last != nullptr && follows(last->from, from) && follows(last->to, to)) {
    last->from.bytes += from.bytes;
    last->to.bytes += to.bytes;
  } else {
    steps.emplace_back(Copy{from, to});
  }
}

void ScheduleBuilder::permute(const Region& from, const Region& to, std::size_t rows,
                              std::size_t columns) {
  if (rows == 1 || columns == 1) return copy(from, to);
  if (from.bytes > 0) phases_.back().steps.emplace_back(Permute{from, to, rows, columns});
}

void ScheduleBuilder::reduce(std::vector<Region> from, const Region& to) {
  if (from.size() == 1) return copy(from.front(), to);
  if (to.bytes > 0) phases_.back().steps.emplace_back(Reduce{std::move(from), to});
}

void ScheduleBuilder::send(int peer, const Region& region) {
  if (region.bytes > 0) phases_.back().sends.push_back({peer, region});
}

void ScheduleBuilder::receive(int peer, const Region& region) {
  if (region.bytes > 0) phases_.back().receives.push_back({peer, region, phases_.size() - 1});
}

std::size_t ScheduleBuilder::first_start(const Region& region) const {
  return region.buffer == Buffer::temporary || region.bytes == 0 ? 0 : buffers_free_;
}

void ScheduleBuilder::meet(int peer) {
  phases_.back().sends.push_back({peer, {}});
  phases_.back().receives.push_back({peer, {}, phases_.size() - 1});
}

Schedule ScheduleBuilder::finish() {
  for (std::size_t phase = 0; phase < phases_.size(); ++phase)
    for (Receive& receive : phases_[phase].receives)
      receive.start = free_since(phases_, first_start(receive.region), phase, receive.region);
  return {std::move(phases_), temporary_};
}

}  // namespace penstock::coll
