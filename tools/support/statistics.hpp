// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace penstock::tool {

// Median and quartiles of a few rounds: the quartiles are the spread that the tables show.
struct Summary {
  double median = 0;
  double low = 0;
  double high = 0;
  std::vector<double> samples{};  // what they are of
};

// The value at `part` (0 to 1) of the sorted samples, between two of them by their distance. Not
// for empty samples.
double quantile(std::vector<double> samples, double part);

Summary summarize(const std::vector<double>& samples);

// The quartiles as the tables print them.
std::string spread_text(const Summary& summary);

}  // namespace penstock::tool
