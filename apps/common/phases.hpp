// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include "support/clock.hpp"

namespace penstock::apps {

// What the host is at in a round. Of streams these are the calls, which wait for nothing.
enum class Phase { pre_comm, post_recv, post_send, wait_recv, wait_send, post_comm };
constexpr std::size_t phase_count = 6;
constexpr std::array<const char*, phase_count> phase_names{"pre-comm",  "post-recv", "post-send",
                                                           "wait-recv", "wait-send", "post-comm"};

// Adds up the time between enter() and the next enter() or leave().
class PhaseClock {
 public:
  void enter(Phase phase) noexcept {
    leave();
    phase_ = static_cast<std::size_t>(phase);
    is_running_ = true;
  }
  void leave() noexcept {
    const double now = tool::now_us();
    if (is_running_) us_[phase_] += now - begin_;
    begin_ = now;
    is_running_ = false;
  }
  void reset() noexcept { us_ = {}; }
  const std::array<double, phase_count>& us() const noexcept { return us_; }

 private:
  std::array<double, phase_count> us_{};
  std::size_t phase_ = 0;
  double begin_ = 0;
  bool is_running_ = false;
};

}  // namespace penstock::apps
