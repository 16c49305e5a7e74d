// SPDX-License-Identifier: Apache-2.0
// What enqueued work tells the queue that it was enqueued on.
#pragma once

#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/first_error.hpp"
#include "base/trace.hpp"

namespace penstock::transport {

// What a wait on a stream waits for. Reports name it, and the monitor cancels a wait that lasts too
// long.
class Waiter {
 public:
  virtual ~Waiter() = default;
  // "receive from rank 3 (tag 7, MPI_COMM_WORLD, 4096 bytes)": set by core once, for messages.
  const std::string& label() const noexcept { return label_; }
  virtual void set_label(std::string label) { label_ = std::move(label); }
  // "epoch 17, rendezvous, waits for CTS": what the monitor prints besides what core knows. Called
  // between blocked_since and unblocked only.
  virtual std::string describe() const = 0;
  // What to look at when the wait lasts too long.
  virtual const char* advice() const noexcept {
    return "see that the other half is started as often as this one, and that neither rank waits "
           "for the other before that (one PST_Enqueue_runall takes all that they exchange)";
  }
  // Makes a wait that is under way end with this error, and poisons what it is for. Any thread.
  virtual void cancel_wait(const base::Error& error) noexcept = 0;

 private:
  std::string label_;
};

// Where failures of enqueued work go. The first one sticks: afterwards starts on that queue do
// nothing, so that stale data is never sent on as good, and waits end when nothing moves their
// buffers any more.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void fail(const base::Error& error) noexcept = 0;  // any thread; the first one counts
  // A wait that has polled for long and found nothing says so, for the monitor's table, and again
  // when it ends. Slow path only. Between the two calls the monitor may call describe() and
  // cancel_wait(); unblocked() returns when neither of them is running.
  virtual void blocked_since(Waiter& waiter) noexcept = 0;
  virtual void unblocked(Waiter& waiter) noexcept = 0;
  bool failed() const noexcept { return error() != nullptr; }
  const base::Error* error() const noexcept { return error_.get(); }  // null: it has not failed
  // Where what happens on the stream is recorded; null unless PENSTOCK_TRACE is set.
  base::trace::Track* track() const noexcept { return track_; }

 protected:
  base::FirstError error_;
  base::trace::Track* track_ = nullptr;
};

}  // namespace penstock::transport
