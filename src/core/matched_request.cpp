// SPDX-License-Identifier: Apache-2.0
#include "core/matched_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/request_error.hpp"

namespace penstock::core {

namespace {

std::string rank_text(int rank) {
  if (rank == any_rank) return "any rank";
  if (rank == null_rank) return "MPI_PROC_NULL";
  return fmt::format("rank {}", rank);
}

std::string tag_text(int tag) {
  return tag == any_tag ? "any" : std::to_string(tag);
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
      break;
  }
  return "operation with";
}

}  // namespace

bool MatchedRequest::all_lanes_matched() const noexcept {
  return std::ranges::all_of(recording_.channel->lanes(), &MatchedRequest::matched);
}

bool MatchedRequest::any_lane_under_way() const noexcept {
  return std::ranges::any_of(recording_.channel->lanes(), &MatchedRequest::match_under_way);
}

MatchedRequest::MatchedRequest(Recording recording) : recording_(std::move(recording)) {}

std::string MatchedRequest::label() const {
  return label_of(matched() ? &result_ : nullptr);
}

std::string MatchedRequest::label_of(const MatchResult* result) const {
  if (recording_.collective) return recording_.collective->label();
  const std::string communicator =
      recording_.communicator ? recording_.communicator->name : "unknown communicator";
  if (recording_.kind == RequestKind::collective)
    return fmt::format("the request of {} ({})", recording_.call, communicator);
  const bool known = result != nullptr && is_receive();
  const int peer = known ? result->source : recording_.peer;
  const int tag = known ? result->tag : recording_.tag;
  const std::string what = recording_.channel ? fmt::format("{} {}", recording_.channel->name(),
                                                            is_receive() ? "from" : "to")
                                              : verb(recording_.kind);
  return fmt::format("{} {} (tag {}, {}, {} bytes)", what, rank_text(peer), tag_text(tag),
                     communicator, known ? result->bytes : recording_.bytes);
}

void MatchedRequest::take_match(const MatchResult& result, std::unique_ptr<transport::Plan> plan,
                                const std::string& transport) {
  take_plan(std::move(plan));  // first, so that match_failed() closes it whatever happens
  result_ = result;
  transport_ = transport;
  if (recording_.collective) wait_turn = recording_.collective->turn();
  if (!this->plan()) return;
  this->plan()->set_label(label_of(&result_));
  this->plan()->set_traced(traced_message());
  this->plan()->matched();
}

base::trace::TracedMessage MatchedRequest::traced_message() const {
  if (recording_.collective) return recording_.collective->traced();
  if (is_receive()) return {false, result_.source, result_.tag, result_.bytes};
  return {true, recording_.peer, recording_.tag, recording_.bytes};
}

void MatchedRequest::match_failed() noexcept {
  give_up_plan();
  match_begun_.store(false, std::memory_order_release);
}

void MatchedRequest::refuse_incomplete() const {
  throw RequestError(*this, base::ErrorKind::not_matched, not_matched_text);
}

}  // namespace penstock::core
