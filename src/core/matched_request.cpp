// SPDX-License-Identifier: Apache-2.0
#include "core/matched_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace penstock::core {

namespace {

std::string rank_text(int rank) {
  if (rank == any_rank) return "any rank";
  if (rank == null_rank) return "MPI_PROC_NULL";
  return fmt::format("rank {}", rank);
}

const char* verb(RequestKind kind) {
  switch (kind) {
    case RequestKind::send:
      return "send to";
    case RequestKind::synchronous_send:
      return "synchronous send to";
    case RequestKind::ready_send:
      return "ready send to";
    case RequestKind::buffered_send:
      return "buffered send to";
    case RequestKind::receive:
      return "receive from";
    case RequestKind::collective:
      return "collective of";
    case RequestKind::partitioned:
      return "partitioned operation with";
  }
  return "operation with";
}

}  // namespace

MatchedRequest::MatchedRequest(Recording recording) : recording_(std::move(recording)) {}

std::string MatchedRequest::label() const {
  return label_of(matched() ? &result_ : nullptr);
}

std::string MatchedRequest::label_of(const MatchResult* result) const {
  const bool known = result != nullptr && is_receive();
  const int peer = known ? result->source : recording_.peer;
  const int tag = known ? result->tag : recording_.tag;
  return fmt::format(
      "{} {} (tag {}, {}, {} bytes)", verb(recording_.kind), rank_text(peer),
      tag == any_tag ? std::string("any") : std::to_string(tag),
      recording_.communicator ? recording_.communicator->name : "unknown communicator",
      known ? result->bytes : recording_.bytes);
}

void MatchedRequest::take_match(const MatchResult& result, std::unique_ptr<transport::Plan> plan,
                                const std::string& transport) {
  plan_ = std::move(plan);  // first, so that match_failed() closes it whatever happens
  result_ = result;
  transport_ = transport;
  if (!plan_) return;
  uses_.reserve(2);  // enough for what most programs do: no start takes memory
  plan_->set_label(label_of(&result_));
  plan_->set_traced(
      is_receive()
          ? base::trace::TracedMessage{false, result_.source, result_.tag, result_.bytes}
          : base::trace::TracedMessage{true, recording_.peer, recording_.tag, recording_.bytes});
}

void MatchedRequest::give_up_plan() noexcept {
  if (plan_) plan_->close();
  plan_.reset();
}

void MatchedRequest::match_failed() noexcept {
  give_up_plan();
  match_state_.store(MatchState::unmatched, std::memory_order_release);
}

// Without this order the private words of two epochs would be touched by two streams at once (L13).
// Between a stream outside captures and one inside there is none, nor between two captures: a
// graph's launch is ordered against other uses of the same requests by the program, as for any
// buffer that the graph uses.
void MatchedRequest::change_stream(const std::shared_ptr<device::Stream>& stream,
                                   std::uint64_t capture) {
  const auto last = std::find_if(uses_.begin(), uses_.end(),
                                 [&](const Use& use) { return use.capture == capture; });
  const bool is_new = last == uses_.end();
  // Before the order is made, as these can fail.
  if (capture != 0) captured_on_.reserve(captured_on_.size() + 1);
  if (is_new) uses_.reserve(uses_.size() + 1);
  if (!is_new) {
    const auto from = last->stream.lock();
    if (from != stream) {
      plan_->hand_over(from.get(), *stream);
      has_moved_ = true;
    }
  }
  // A stream is in one capture at a time, so others that it was in have ended.
  std::erase_if(uses_, [&](const Use& use) {
    if (use.capture == capture) return true;
    const auto other = use.stream.lock();
    return use.capture != 0 && (!other || other == stream);
  });
  if (capture != 0) note_captured_on(stream);
  uses_.push_back({capture, stream});
  last_stream_ = stream.get();
  last_capture_ = capture;
}

void MatchedRequest::note_captured_on(const std::shared_ptr<device::Stream>& stream) {
  std::erase_if(captured_on_, [&](const auto& each) {
    const auto other = each.lock();
    return !other || other == stream;
  });
  captured_on_.push_back(stream);
}

void MatchedRequest::enqueue_start(device::Stream& stream, std::uint64_t capture,
                                   transport::Sink& sink) {
  if (plan_) {
    plan_->start(stream, sink);
    ++starts_;
    if (capture == 0) ++direct_starts_;
  }
  started_in = capture;
}

void MatchedRequest::enqueue_wait(device::Stream& stream, transport::Sink& sink) {
  if (plan_) plan_->wait(stream, sink);
}

bool MatchedRequest::in_captured_stream() const {
  if (!plan_) return false;
  const auto captured = [](const std::weak_ptr<device::Stream>& owner) {
    const auto stream = owner.lock();
    return stream && stream->is_captured();
  };
  return std::any_of(uses_.begin(), uses_.end(),
                     [&](const Use& use) { return captured(use.stream); }) ||
         std::any_of(captured_on_.begin(), captured_on_.end(), captured);
}

// Starts outside captures may still run on the last stream of those, behind which all others of
// them are, and graphs on the streams that were captured.
std::shared_ptr<device::Stream> MatchedRequest::behind_all_uses() noexcept {
  std::shared_ptr<device::Stream> last;
  const auto add = [&](const std::weak_ptr<device::Stream>& owner) {
    const auto stream = owner.lock();
    if (stream && last && stream != last) last->come_behind(*stream);
    if (!last) last = stream;
  };
  for (auto use = uses_.rbegin(); use != uses_.rend(); ++use) add(use->stream);
  for (const auto& owner : captured_on_) add(owner);
  return last;
}

void MatchedRequest::close(MatchedRequest* operation) noexcept {
  if (operation->plan_) {
    if (const auto stream = operation->behind_all_uses()) {
      operation->plan_->close(
          *stream, [](void* ended) { delete static_cast<MatchedRequest*>(ended); }, operation);
      return;
    }
    operation->plan_->close();
  }
  delete operation;
}

}  // namespace penstock::core
