// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "support/statistics.hpp"

namespace penstock::apps {

// One time as the ranks have seen it.
struct OverRanks {
  double average = 0;
  double minimum = 0;
  double maximum = 0;
};

// Collective.
OverRanks over_ranks(double mine);

// The rounds of one variant. A round takes as long as on its slowest rank, so that is what is
// compared.
class Samples {
 public:
  void add(const OverRanks& round) { rounds_.push_back(round); }
  bool empty() const noexcept { return rounds_.empty(); }

  tool::Summary slowest() const;  // median and quartiles of the maxima
  OverRanks medians() const;      // of the averages, of the minima and of the maxima

 private:
  std::vector<double> all(double OverRanks::*member) const;

  std::vector<OverRanks> rounds_;
};

}  // namespace penstock::apps
