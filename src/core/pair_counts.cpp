// SPDX-License-Identifier: Apache-2.0
#include "core/pair_counts.hpp"

#include <fmt/format.h>

namespace penstock::core {

void PairCounts::add(const std::string& transport, const std::vector<Reason>& passed_over) {
  const std::lock_guard lock(mutex_);
  ++seen_.served[transport];
  for (const Reason& reason : passed_over) ++seen_.passed_over[reason];
}

PairCounts::Seen PairCounts::seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

std::string PairCounts::text() const {
  const Seen now = seen();
  std::string text;
  for (const auto& [transport, pairs] : now.served)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", transport, pairs);
  for (const auto& [reason, pairs] : now.passed_over)
    text += fmt::format("; not {} for {} ({})", reason.first, pairs, reason.second);
  return text;
}

}  // namespace penstock::core
