// SPDX-License-Identifier: Apache-2.0
// What the sender's and the receiver's side of the handshake share. Every process is both: the
// sides know each other by letters alone, also within one process. Guarded by the matcher's lock.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "core/matching/contents.hpp"
#include "core/matching/match_jobs.hpp"
#include "core/matching/match_letters.hpp"
#include "core/matching/match_order.hpp"
#include "core/matching/refusals.hpp"
#include "core/pair_counts.hpp"
#include "core/transports.hpp"

namespace penstock::core {

struct MatchResult;

class MatchSide {
 public:
  struct MatchContext {
    Transports& transports;
    MatchLetters& letters;
    MatchJobs& jobs;
    PairCounts& pairs;
    bool check = false;  // signatures are compared
  };

  // Takes the request out of whatever stage its match is in, tells its peer and fails it. A half
  // that has been connected is closed before the letter leaves: who reads that gives the memory to
  // another pair.
  void give_up(MatchedRequest& request, MatchJob& job, const base::Error& error);

 protected:
  using Id = std::uint64_t;

  explicit MatchSide(const MatchContext& context)
      : transports_(context.transports),
        letters_(context.letters),
        jobs_(context.jobs),
        check_(context.check),
        pairs_(context.pairs) {}
  ~MatchSide() = default;

  // Runs a step of the request's match. What it throws fails the request and nothing else.
  template <class Step>
  void attempt(MatchedRequest& request, const std::shared_ptr<MatchJob>& job, Step&& step) {
    try {
      step();
    } catch (const std::exception& failure) {
      give_up(request, *job, error_of(failure));
    }
  }
  // The request has its plan. Which way the pair takes, and why not a better one, is counted, and
  // logged at level info.
  void take_match(MatchedRequest& request, const MatchResult& result,
                  std::unique_ptr<transport::Plan> plan, const std::string& transport,
                  const Refusals& mine, const Refusals& theirs);

  Transports& transports_;
  MatchLetters& letters_;
  MatchJobs& jobs_;
  const bool check_;
  Id last_id_ = 0;

 private:
  virtual void withdraw(MatchedRequest& request, const base::Error& why) = 0;

  PairCounts& pairs_;
};

}  // namespace penstock::core
