// SPDX-License-Identifier: Apache-2.0
// A recorded persistent request: what it was made with, and what it has been matched to.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "core/recording.hpp"
#include "core/stream_operation.hpp"

namespace penstock::core {

// What the status of a match says.
struct MatchResult {
  int source = null_rank;  // rank in the communicator; of a receive
  int tag = any_tag;
  std::size_t bytes = 0;    // of the matched send
  std::string algorithm{};  // of a collective
};

class MatchedRequest final : public StreamOperation {
 public:
  explicit MatchedRequest(Recording recording);

  const Recording& recording() const noexcept { return recording_; }
  bool is_receive() const noexcept { return recording_.kind == RequestKind::receive; }
  std::string label() const override;
  std::shared_ptr<const group::Communicator> communicator() const override {
    return recording_.communicator;
  }
  [[noreturn]] void refuse_incomplete() const override;
  const char* renewal() const noexcept override {
    return is_shared() ? "free this request, and match new ones on all members"
                       : StreamOperation::renewal();
  }
  bool is_shared() const noexcept override { return recording_.collective != nullptr; }

  bool matched() const noexcept { return complete() && (!gathers() || all_lanes_matched()); }
  bool match_under_way() const noexcept {
    if (gathers()) return any_lane_under_way();
    return match_begun_.load(std::memory_order_acquire) && !matched();
  }
  // Others are matched in its place (Channel::lanes).
  bool gathers() const noexcept {
    return recording_.channel != nullptr && !recording_.channel->lanes().empty();
  }
  void match_begins() noexcept { match_begun_.store(true, std::memory_order_release); }
  // What the request has been matched to: `plan` is null for MPI_PROC_NULL, `transport` is the name
  // of the transport that serves the pair. No other thread sees it before publish_match().
  void take_match(const MatchResult& result, std::unique_ptr<transport::Plan> plan,
                  const std::string& transport);
  // From now on any thread may start or free the request: nothing is written here behind it. The
  // same holds for match_failed(), which gives up the plan, if any.
  void publish_match() noexcept {
    any_matched_.store(true, std::memory_order_relaxed);
    set_complete();
  }
  void match_failed() noexcept;
  using StreamOperation::give_up_plan;
  using StreamOperation::plan;  // of a channel, once it is matched
  using StreamOperation::release_plan;
  // Whether this process has ever matched one: until then MPI's calls need not look at their
  // requests.
  static bool any_matched() noexcept { return any_matched_.load(std::memory_order_relaxed); }
  const MatchResult& result() const noexcept { return result_; }
  const std::string& transport() const noexcept { return transport_; }

  // Where the matcher has it, under the matcher's lock: how early a receive is, and the numbers of
  // its invitation and of its answer, or of a send's offer. They may be those of something that is
  // gone.
  struct MatchPlace {
    std::uint64_t number = 0, invitation = 0, letter = 0;
  };
  MatchPlace match_place;

  // A queue or a match call refers to it.
  bool in_use() const noexcept { return started_on != nullptr || match_under_way(); }

 private:
  static inline std::atomic<bool> any_matched_{false};

  bool all_lanes_matched() const noexcept;
  bool any_lane_under_way() const noexcept;
  std::string label_of(const MatchResult* result) const;
  base::trace::TracedMessage traced_message() const;

  Recording recording_;
  std::atomic<bool> match_begun_{false};  // and has not failed since
  MatchResult result_;
  std::string transport_;
};

}  // namespace penstock::core
