// SPDX-License-Identifier: Apache-2.0
#include "core/stream_operation.hpp"

#include <algorithm>
#include <utility>

#include "core/request_error.hpp"

namespace penstock::core {

void StreamOperation::take_plan(std::unique_ptr<transport::Plan> plan) {
  plan_ = std::move(plan);
  if (plan_) uses_.reserve(2);  // enough for what most programs do: no start takes memory
}

void StreamOperation::give_up_plan() noexcept {
  if (plan_) plan_->close();
  plan_.reset();
}

// Without this order the private words of two epochs would be touched by two streams at once (L13).
// Between a stream outside captures and one inside there is none, nor between two captures: a
// graph's launch is ordered against other uses of the same requests by the program, as for any
// buffer that the graph uses.
void StreamOperation::change_stream(const std::shared_ptr<device::Stream>& stream,
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

void StreamOperation::note_captured_on(const std::shared_ptr<device::Stream>& stream) {
  std::erase_if(captured_on_, [&](const auto& each) {
    const auto other = each.lock();
    return !other || other == stream;
  });
  captured_on_.push_back(stream);
}

void StreamOperation::enqueue_start(device::Stream& stream, std::uint64_t capture,
                                    transport::Sink& sink) {
  if (plan_) {
    plan_->start(stream, sink);
    ++starts_;
    if (capture == 0) ++direct_starts_;
  }
  started_in = capture;
}

void StreamOperation::enqueue_wait(device::Stream& stream, transport::Sink& sink) {
  if (plan_) plan_->wait(stream, sink);
}

// Of MPI_PROC_NULL there is nothing that a kernel could do.
void StreamOperation::enter_kernels(device::Stream& stream, transport::Sink& sink,
                                    unsigned wait_blocks, std::span<std::byte> handle) {
  if (!plan_)
    throw RequestError(*this, base::ErrorKind::unsupported,
                       ": no message travels, so kernels have nothing to start or to wait for");
  if (!in_kernels_ && !captured_on_.empty())
    throw RequestError(*this, base::ErrorKind::unsupported,
                       ": a graph may hold calls of it that leave to the next call what a kernel "
                       "does not see to: make its handle before anything of it is captured");
  plan_->enter_kernels(stream, sink, wait_blocks, handle);
  in_kernels_ = true;
}

void StreamOperation::launch_gathered() noexcept {
  for (const Use& use : uses_)
    if (const auto stream = use.stream.lock(); plan_ && stream) plan_->launch_gathered(*stream);
}

bool StreamOperation::in_captured_stream() const {
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
std::shared_ptr<device::Stream> StreamOperation::behind_all_uses() noexcept {
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

void StreamOperation::let_go(void* operation) noexcept {
  auto* const own = static_cast<StreamOperation*>(operation);
  if (own->let_go_once_.exchange(true, std::memory_order_acq_rel)) delete own;
}

void StreamOperation::close_plan() noexcept {
  has_left_ = true;
  if (plan_->close_behind_own_streams(&let_go, this)) return;
  if (const auto stream = behind_all_uses()) return plan_->close(*stream, &let_go, this);
  plan_->close();
  let_go(this);
}

// Where a graph may still be launched, its kernels need the plan open.
void StreamOperation::start_refused() noexcept {
  if (is_shared() && plan_ && !has_left_ && captured_on_.empty()) close_plan();
}

void StreamOperation::close(StreamOperation* operation) noexcept {
  if (!operation->plan_) return delete operation;
  if (!operation->has_left_) operation->close_plan();
  let_go(operation);
}

}  // namespace penstock::core
