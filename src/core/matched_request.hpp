// SPDX-License-Identifier: Apache-2.0
// A recorded persistent request: what it was made with, what it has been matched to, and where it
// stands on its queue.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/recording.hpp"
#include "device/stream.hpp"
#include "transport/plan.hpp"

namespace penstock::core {

class Queue;

enum class MatchState : std::uint8_t { unmatched, under_way, matched };

// What the status of a match says.
struct MatchResult {
  int source = null_rank;  // rank in the communicator; of a receive
  int tag = any_tag;
  std::size_t bytes = 0;  // of the matched send
};

class MatchedRequest {
 public:
  explicit MatchedRequest(Recording recording);

  const Recording& recording() const noexcept { return recording_; }
  bool is_receive() const noexcept { return recording_.kind == RequestKind::receive; }
  // "receive from rank 3 (tag 7, MPI_COMM_WORLD, 4096 bytes)"
  std::string label() const;

  MatchState match_state() const noexcept { return match_state_.load(std::memory_order_acquire); }
  bool matched() const noexcept { return match_state() == MatchState::matched; }
  void match_begins() noexcept {
    match_state_.store(MatchState::under_way, std::memory_order_release);
  }
  // What the operation has been matched to: `plan` is null for MPI_PROC_NULL, `transport` is the
  // name of the transport that serves the pair. Nobody else sees it before publish_match().
  void take_match(const MatchResult& result, std::unique_ptr<transport::Plan> plan,
                  const std::string& transport);
  // From now on any thread may start or free the operation. So does match_failed(), which gives up
  // the plan, if any.
  void publish_match() noexcept {
    any_matched_.store(true, std::memory_order_relaxed);
    match_state_.store(MatchState::matched, std::memory_order_release);
  }
  // Whether this process has ever matched one: until then MPI's calls need not look at their
  // requests.
  static bool any_matched() noexcept { return any_matched_.load(std::memory_order_relaxed); }
  void match_failed() noexcept;
  // The other half hears that there is no pair after all.
  void give_up_plan() noexcept;
  const MatchResult& result() const noexcept { return result_; }
  const std::string& transport() const noexcept { return transport_; }

  // The queue's side. Throws where the pair cannot be served on the stream: before anything is
  // enqueued.
  void check_stream(const device::Stream& stream) const {
    if (plan_ && last_stream_ != &stream) plan_->check_stream(stream);
  }
  // Before a start, on a stream that is in `capture`: orders it behind this operation's last wait
  // where that is on another stream. Throws Error(stream), Error(resources); then it is as if it
  // had not been called.
  void follow(const std::shared_ptr<device::Stream>& stream, std::uint64_t capture) {
    if (plan_ && (last_stream_ != stream.get() || last_capture_ != capture)) [[unlikely]]
      change_stream(stream, capture);
  }
  void enqueue_start(device::Stream& stream, std::uint64_t capture, transport::Sink& sink);
  void enqueue_wait(device::Stream& stream, transport::Sink& sink);
  // After the flush that ends the enqueue call of a wait.
  void wait_flushed(device::Stream& stream) noexcept {
    if (has_moved_) [[unlikely]]
      plan_->wait_flushed(stream);
  }
  // What was captured may have run any number of times: only starts outside captures are known to
  // have been made.
  bool peer_closed() const noexcept { return plan_ && plan_->peer_closed(direct_starts_ + 1); }

  // What traces say of it, and the epoch of its last start. Nothing is done for MPI_PROC_NULL.
  const base::trace::TracedMessage* traced() const noexcept {
    return plan_ ? &plan_->traced() : nullptr;
  }
  std::uint64_t starts() const noexcept { return starts_; }

  // A queue or a match call refers to it.
  bool in_use() const noexcept {
    return started_on != nullptr || match_state() == MatchState::under_way;
  }

  // Nothing can be enqueued now behind all that was enqueued for it. Any thread.
  bool in_captured_stream() const;

  // The queue on which it is started and not waited for, or null; and its neighbours in that
  // queue's list.
  Queue* started_on = nullptr;
  std::uint64_t started_in = 0;  // the graph capture in which it was started, 0 for none
  MatchedRequest* next = nullptr;
  MatchedRequest* previous = nullptr;

  // Gives up this half of the pair, in stream order after all that is enqueued for it, and deletes
  // the operation.
  static void close(MatchedRequest* operation) noexcept;

 private:
  static inline std::atomic<bool> any_matched_{false};

  std::string label_of(const MatchResult* result) const;
  void change_stream(const std::shared_ptr<device::Stream>& stream, std::uint64_t capture);
  void note_captured_on(const std::shared_ptr<device::Stream>& stream);
  // A stream that comes behind all others that the operation was used on, from now on; null where
  // none is left.
  std::shared_ptr<device::Stream> behind_all_uses() noexcept;

  Recording recording_;
  std::atomic<MatchState> match_state_{MatchState::unmatched};
  MatchResult result_;
  std::string transport_;
  std::unique_ptr<transport::Plan> plan_;

  std::uint64_t starts_ = 0;
  std::uint64_t direct_starts_ = 0;  // those outside graph captures
  // Compared only: it may have been freed. No other stream can have its address before the last use
  // below is renewed: all are made by std::make_shared, whose memory holds the count too, and stays
  // while there is a weak owner.
  device::Stream* last_stream_ = nullptr;
  std::uint64_t last_capture_ = 0;
  bool has_moved_ = false;  // it has been started on more than one stream
  // Where it has been started last outside captures (0), and in each capture that may be under way:
  // the last one of all at the back. Renewed when the stream or the capture changes.
  struct Use {
    std::uint64_t capture;
    std::weak_ptr<device::Stream> stream;
  };
  std::vector<Use> uses_;
  std::vector<std::weak_ptr<device::Stream>>
      captured_on_;  // graphs of these captures may run there
};

}  // namespace penstock::core
