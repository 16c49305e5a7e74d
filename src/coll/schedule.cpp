// SPDX-License-Identifier: Apache-2.0
#include "coll/schedule.hpp"

namespace penstock::coll {

std::vector<Region> regions_read(const LocalStep& step) {
  if (const auto* const copy = std::get_if<Copy>(&step)) return {copy->from};
  if (const auto* const permute = std::get_if<Permute>(&step)) return {permute->from};
  return std::get<Reduce>(step).from;
}

Region region_written(const LocalStep& step) {
  return std::visit([](const auto& each) { return each.to; }, step);
}

}  // namespace penstock::coll
