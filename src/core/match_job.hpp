// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "base/error.hpp"

namespace penstock::core {

class Operation;

// One call of the match family: done when each of its operations is matched or has failed. Guarded by the matcher's
// lock, except `finished`, which is set last.
struct MatchJob {
  std::vector<Operation*> operations;
  std::size_t open = 0;              // operations without an outcome
  std::optional<base::Error> error;  // the first one
  Operation* failed = nullptr;       // whose it is
  std::optional<std::chrono::steady_clock::time_point> deadline;
  std::function<void()> on_finished;  // called once, without the lock, from whichever thread drove the last step
  std::atomic<bool> finished{false};
};

}  // namespace penstock::core
