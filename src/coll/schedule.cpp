// SPDX-License-Identifier: Apache-2.0
#include "coll/schedule.hpp"

#include <algorithm>

namespace penstock::coll {

std::vector<Region> regions_read(const LocalStep& step) {
  if (const auto* const copy = std::get_if<Copy>(&step)) return {copy->from};
  if (const auto* const permute = std::get_if<Permute>(&step)) return {permute->from};
  return std::get<Reduce>(step).from;
}

Region region_written(const LocalStep& step) {
  return std::visit([](const auto& each) { return each.to; }, step);
}

bool touches(const LocalStep& step, const Region& region) {
  const std::vector<Region> read = regions_read(step);
  return overlap(region_written(step), region) ||
         std::any_of(read.begin(), read.end(),
                     [&](const Region& each) { return overlap(each, region); });
}

}  // namespace penstock::coll
