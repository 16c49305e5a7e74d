// SPDX-License-Identifier: Apache-2.0
// The matches under way, from the call that begins one until its caller can know the outcome.
// Guarded by the matcher's lock, but for under_way() and tell().
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <list>
#include <memory>

#include "base/no_copy.hpp"
#include "core/matching/match_job.hpp"
#include "core/matching/match_letters.hpp"

namespace penstock::core {

class MatchJobs : private base::NoCopy {
 public:
  using List = std::list<std::shared_ptr<MatchJob>>;
  using Time = std::chrono::steady_clock::time_point;

  ~MatchJobs();

  static bool under_way() noexcept { return count.load(std::memory_order_relaxed) != 0; }

  void begin(const std::shared_ptr<MatchJob>& job);  // throws std::bad_alloc, and nothing has begun
  // Both say what has become of the request as the last thing they do with it: it may be freed at
  // once.
  void succeed(MatchedRequest& request, MatchJob& job);
  void fail(MatchedRequest& request, MatchJob& job, const base::Error& error);

  // Whether some request has no outcome in time.
  bool any_late(Time now) const;
  // Calls visit(request, job) for each request without an outcome, which may get one by that.
  template <class Visit>
  void for_each_open(Visit&& visit);
  const List& open_jobs() const noexcept { return open_; }
  // Whether there is a match that its caller may not drive for long: one of PST_Imatch.
  bool unattended() const noexcept { return unattended_ > 0; }

  // Ends the jobs whose requests have all their outcome and whose letters have left. A call may
  // return only when its last letters are MPI's, refusals too: its peers wait for them, and the
  // program may not call MPI again for long. A job whose time is over does not wait for its
  // letters: a peer that has stopped takes none, though its half is matched. At the end
  // end_together() sees to them. Nor does a job wait for letters behind its own: their reader may
  // have what it needs and read no more.
  void end_settled(const MatchLetters& letters);
  // From now on no job waits for its letters.
  void wait_for_no_letters() noexcept { ending_ = true; }
  // Takes out the jobs whose end is to be told.
  List take_ended() noexcept;
  // Calls on_finished of each. The caller does not hold the lock.
  static void tell(const List& ended);

 private:
  void settle(MatchJob& job);

  static std::atomic<int> count;  // of this process, told or not

  // A job goes from list to list, which needs no memory: what has begun comes to its end.
  List open_;
  List settled_;  // every request has its outcome, letters may be unsent
  List ended_;    // on_finished is to be called, without the lock
  std::size_t unattended_ = 0;
  bool ending_ = false;
};

// Takes no memory.
template <class Visit>
void MatchJobs::for_each_open(Visit&& visit) {
  for (auto next = open_.begin(); next != open_.end();) {
    const std::shared_ptr<MatchJob> job = *next++;
    for (auto each = job->open.begin(); each != job->open.end();) {
      MatchedRequest& request = **each++;
      visit(request, job);
    }
  }
}

}  // namespace penstock::core
