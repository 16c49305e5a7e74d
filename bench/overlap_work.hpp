// SPDX-License-Identifier: Apache-2.0
// What a rank does in bench overlap while its messages are under way.
#pragma once

#include <functional>

namespace penstock::bench {

// cpu: arithmetic on the core; idle: sleeps, as a host does whose GPU computes.
enum class Compute { cpu, idle };

class Work {
 public:
  explicit Work(Compute compute);

  // Works for about so many microseconds, in parts between which it calls `between` so many times.
  void run(double microseconds, int times, const std::function<void()>& between) const;

 private:
  void compute_for(double microseconds) const;

  const Compute compute_;
  double steps_a_microsecond_ = 0;
};

}  // namespace penstock::bench
