// SPDX-License-Identifier: Apache-2.0
#include "core/matching/match_side.hpp"

#include <fmt/format.h>

#include "base/log.hpp"
#include "core/matched_request.hpp"

namespace penstock::core {

void MatchSide::give_up(MatchedRequest& request, MatchJob& job, const base::Error& error) {
  request.give_up_plan();
  withdraw(request, error);
  jobs_.fail(request, job, error);
}

void MatchSide::take_match(MatchedRequest& request, const MatchResult& result,
                           std::unique_ptr<transport::Plan> plan, const std::string& transport,
                           const Refusals& mine, const Refusals& theirs) {
  const transport::Plan& path = *plan;
  request.take_match(result, std::move(plan), transport);
  std::vector<PairCounts::Reason> passed_over;
  const auto add = [&](const std::string& name, const Refusals& refusals, const char* side) {
    for (const auto& [refused, why] : refusals)
      if (refused == name) passed_over.emplace_back(name, fmt::format("{}: {}", side, why.what()));
  };
  for (const Transports::Entry& entry : transports_.entries()) {
    const std::string name = entry.transport->name();
    if (name == transport) break;
    add(name, mine, "here");
    add(name, theirs, "peer");
  }
  pairs_.add(transport, passed_over);
  if (!base::log::enabled(base::LogLevel::info)) return;
  std::string line = path.label() + ": " + path.path();
  for (const auto& [name, why] : passed_over) line += fmt::format("; not {} ({})", name, why);
  base::log::info(line);
}

}  // namespace penstock::core
