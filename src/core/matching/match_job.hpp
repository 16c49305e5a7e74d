// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <unordered_set>
#include <vector>

#include "core/matched_request.hpp"
#include "core/request_error.hpp"

namespace penstock::core {

// One call of the match family: done when each of its requests is matched or has failed. Guarded
// by the matcher's lock, except `finished`, which is set last. Requests with an outcome are the
// program's again, which may free them.
struct MatchJob {
  std::vector<MatchedRequest*> to_post;                  // until they are
  std::list<std::shared_ptr<MatchJob>>::iterator place;  // in the matcher's list
  std::unordered_set<MatchedRequest*> open;              // requests without an outcome
  std::map<int, std::uint64_t> last_letters;  // of the job, by world rank; see Mailbox::send()
  // Nobody drives when the call returns: its halves leave with their peers all that these need.
  bool leaves = false;
  std::optional<RequestError> error;  // the first one
  std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
  std::optional<std::chrono::steady_clock::time_point> deadline;
  // Called once, without the lock, from whichever thread drove the last step.
  std::function<void()> on_finished;
  std::atomic<bool> finished{false};

  bool late(std::chrono::steady_clock::time_point now) const noexcept {
    return deadline && now >= *deadline;
  }
};

}  // namespace penstock::core
