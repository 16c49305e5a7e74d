// SPDX-License-Identifier: Apache-2.0
// What all explorer tests share: explore, fail with the interleaving, and add up what was visited.
#pragma once

#include <gtest/gtest.h>

#include "protocol/explorer/search.hpp"

namespace penstock::explorer {

struct Totals {
  std::size_t scenarios = 0;
  std::size_t states = 0;
  std::size_t steps = 0;
};

inline Totals& totals() {
  static Totals totals;
  return totals;
}

inline void add_to_totals(const Result& result) {
  ++totals().scenarios;
  totals().states += result.states;
  totals().steps += result.steps;
}

inline void expect_holds(const Scenario& scenario, Liveness liveness) {
  const Result result = explore(scenario, liveness);
  add_to_totals(result);
  EXPECT_TRUE(result.ok()) << result.failure;
}

// PENSTOCK_TEST_LONG=1 asks for the longer set.
inline bool long_run() {
  const char* value = std::getenv("PENSTOCK_TEST_LONG");
  return value != nullptr && std::string(value) == "1";
}

// For the cases that only the longer set has.
constexpr const char* in_the_whole_form =
    "in the whole form: PENSTOCK_TEST_LONG=1, as make test-long runs it";

// Prints the totals of the process when its tests have ended.
class PrintTotals : public ::testing::Environment {
 public:
  void TearDown() override {
    std::cout << "explored: " << totals().scenarios << " scenarios, " << totals().states
              << " states, " << totals().steps << " steps\n";
  }
};

}  // namespace penstock::explorer
