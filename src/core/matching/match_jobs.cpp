// SPDX-License-Identifier: Apache-2.0
#include "core/matching/match_jobs.hpp"

#include "core/matched_request.hpp"

namespace penstock::core {

std::atomic<int> MatchJobs::count{0};

// Takes back the count of jobs whose callers have not completed them.
MatchJobs::~MatchJobs() {
  count.fetch_sub(static_cast<int>(open_.size() + settled_.size() + ended_.size()));
}

void MatchJobs::begin(const std::shared_ptr<MatchJob>& job) {
  job->place = open_.insert(open_.end(), job);
  count.fetch_add(1);
  if (job->on_finished) ++unattended_;
  settle(*job);
}

void MatchJobs::succeed(MatchedRequest& request, MatchJob& job) {
  job.open.erase(&request);
  request.publish_match();
  settle(job);
}

void MatchJobs::fail(MatchedRequest& request, MatchJob& job, const base::Error& error) {
  if (!job.error) job.error.emplace(request, error);
  job.open.erase(&request);
  request.match_failed();
  settle(job);
}

void MatchJobs::settle(MatchJob& job) {
  if (job.open.empty()) settled_.splice(settled_.end(), open_, job.place);
}

// Jobs have one limit, and come in the order in which they have begun: the first is late first.
// That some behind it are looked at is for tests, which change deadlines.
bool MatchJobs::any_late(Time now) const {
  std::size_t looks = 64;
  for (auto job = open_.begin(); job != open_.end() && looks > 0; ++job, --looks)
    if ((*job)->late(now)) return true;
  return false;
}

void MatchJobs::end_settled(const MatchLetters& letters) {
  for (auto next = settled_.begin(); next != settled_.end();) {
    const auto self = next++;
    MatchJob& job = **self;
    if (!ending_ && !job.late(std::chrono::steady_clock::now()) && !letters.have_left(job))
      continue;
    if (job.on_finished) {
      --unattended_;
      ended_.splice(ended_.end(), settled_, self);
      continue;
    }
    count.fetch_sub(1);
    job.finished.store(true, std::memory_order_release);
    settled_.erase(self);
  }
}

MatchJobs::List MatchJobs::take_ended() noexcept {
  List ended;
  ended.swap(ended_);
  return ended;
}

// A match is under way until MPI's request is complete. A call of MPI's that is given the request
// of a match that has ended must not find it incomplete: MPICH 4.0 ends the job where a null
// request stands beside such a one.
void MatchJobs::tell(const List& ended) {
  for (const auto& job : ended) {
    job->on_finished();
    job->finished.store(true, std::memory_order_release);
    count.fetch_sub(1);
  }
}

}  // namespace penstock::core
