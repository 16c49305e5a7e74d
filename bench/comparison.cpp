// SPDX-License-Identifier: Apache-2.0
#include "comparison.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "collective_check.hpp"
#include "collective_traffic.hpp"
#include "rounds.hpp"

namespace penstock::bench {

const Figure& Comparison::fastest() const {
  return *std::min_element(figures.begin(), figures.end(), [](const Figure& a, const Figure& b) {
    return a.summary().median < b.summary().median;
  });
}

Comparer::Comparer(const Options& options, const tool::Session& session)
    : options_(options), session_(session), device_(make_device(options, session)) {}

std::unique_ptr<Side> Comparer::make_side(const Row& row) {
  std::string why_not;
  auto side = device_->make_side("penstock", row.traffic, why_not);
  if (side)
    require_right_result(options_.kind, row, *side, *device_);
  else
    refused_[row.traffic.algorithm] = why_not;
  return side;
}

Comparison Comparer::compare(std::size_t bytes) {
  Comparison comparison{options_.kind, bytes, {}};
  Sides sides;
  int trips = 0;
  for (const Row& row : collective_rows_of(options_, session_, bytes)) {
    auto side = make_side(row);
    if (!side) continue;
    sides.push_back(std::move(side));
    comparison.figures.push_back({row.traffic.algorithm, {}});
    trips = device_->trips_for(row);
  }
  if (sides.empty())
    throw tool::UserError(
        fmt::format("no algorithm of {} serves this", about(options_.kind).command));
  const ThreadTimes before = thread_times();
  for (int round = 0; round < options_.rounds; ++round)
    for (std::size_t i = 0; i < sides.size(); ++i)
      comparison.figures[i].samples.push_back(slowest(sides[i]->run_round(trips).us));
  add_passed(measured_, before);
  return comparison;
}

}  // namespace penstock::bench
