// SPDX-License-Identifier: Apache-2.0
#include "support/statistics.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace penstock::tool {

double quantile(std::vector<double> samples, double part) {
  std::sort(samples.begin(), samples.end());
  const double position = part * static_cast<double>(samples.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(position));
  const auto above = std::min(below + 1, samples.size() - 1);
  return samples[below] + (position - std::floor(position)) * (samples[above] - samples[below]);
}

Summary summarize(const std::vector<double>& samples) {
  return {quantile(samples, 0.5), quantile(samples, 0.25), quantile(samples, 0.75), samples};
}

std::string spread_text(const Summary& summary) {
  return fmt::format("{:.2f} - {:.2f}", summary.low, summary.high);
}

}  // namespace penstock::tool
