// SPDX-License-Identifier: Apache-2.0
// A recorded persistent request: what it was made with, what it has been matched to, and where it stands on its queue.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

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

class Operation {
 public:
  explicit Operation(Recording recording);

  const Recording& recording() const noexcept { return recording_; }
  bool is_receive() const noexcept { return recording_.kind == RequestKind::receive; }
  // "receive from rank 3 (tag 7, MPI_COMM_WORLD, 4096 bytes)"
  std::string label() const;

  MatchState match_state() const noexcept { return match_state_.load(std::memory_order_acquire); }
  bool matched() const noexcept { return match_state() == MatchState::matched; }
  void match_begins() noexcept { match_state_.store(MatchState::under_way, std::memory_order_release); }
  // What the operation has been matched to: `plan` is null for MPI_PROC_NULL, `transport` is the name of the transport
  // that serves the pair. Nobody else sees it before publish_match().
  void take_match(const MatchResult& result, std::unique_ptr<transport::Plan> plan, const std::string& transport);
  // From now on any thread may start or free the operation. So does match_failed(), which gives up the plan, if any.
  void publish_match() noexcept { match_state_.store(MatchState::matched, std::memory_order_release); }
  void match_failed() noexcept;
  // The other half hears that there is no pair after all.
  void give_up_plan() noexcept;
  const MatchResult& result() const noexcept { return result_; }
  const std::string& transport() const noexcept { return transport_; }

  // The queue's side. Throws where the pair cannot be served on the stream: before anything is enqueued.
  void check_stream(const device::Stream& stream) const {
    if (plan_ && last_stream_ != &stream) plan_->check_stream(stream);
  }
  // Enqueues on a stream, ordered after this operation's work on the stream it was last used on.
  void enqueue_start(const std::shared_ptr<device::Stream>& stream, transport::Sink& sink);
  void enqueue_wait(device::Stream& stream, transport::Sink& sink);
  bool peer_closed() const noexcept { return plan_ && plan_->peer_closed(starts_ + 1); }

  // What traces say of it, and the epoch of its last start. Nothing is done for MPI_PROC_NULL.
  const base::trace::Message* traced() const noexcept { return plan_ ? &plan_->traced() : nullptr; }
  std::uint64_t starts() const noexcept { return starts_; }

  // A queue or a match call refers to it.
  bool in_use() const noexcept { return started_on != nullptr || match_state() == MatchState::under_way; }

  // The queue on which it is started and not waited for, or null; and its neighbours in that queue's list.
  Queue* started_on = nullptr;
  std::uint64_t started_in = 0;  // the graph capture in which it was started, 0 for none
  Operation* next = nullptr;
  Operation* previous = nullptr;

  // Gives up this half of the pair, in stream order after all that is enqueued for it, and deletes the operation.
  static void retire(Operation* operation) noexcept;

 private:
  std::string label_of(const MatchResult* result) const;

  Recording recording_;
  std::atomic<MatchState> match_state_{MatchState::unmatched};
  MatchResult result_;
  std::string transport_;
  std::unique_ptr<transport::Plan> plan_;

  std::uint64_t starts_ = 0;
  device::Stream* last_stream_ = nullptr;            // compared only: it may have been freed
  std::weak_ptr<device::Stream> last_stream_owner_;  // renewed when the stream changes
  // Orders the next epoch's start on another stream after this one's wait. Shared with the streams' commands by
  // address, so it lives with the operation, which is retired in the order of the last stream.
  device::Marker handoff_;
};

}  // namespace penstock::core
