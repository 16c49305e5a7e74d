// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/error.hpp"
#include "base/trace.hpp"
#include "device/stream.hpp"
#include "transport/message.hpp"
#include "transport/sink.hpp"

namespace penstock::transport {

enum class PairState : std::uint8_t {
  serves,
  given_up,    // here, when a queue failed that it was used on
  peer_closed  // the peer has freed its half, or given it up, and cannot serve that start
};

// One half of a matched pair, ready to be enqueued. Calls come in the order start, wait, start,
// wait ... Nothing here blocks.
class Plan : public Waiter {
 public:
  // Throws Error(unsupported): a stream it cannot serve.
  virtual void check_stream(const device::Stream& stream) const = 0;
  // The stream has passed that check. Its flush() ends each enqueue call.
  // Whether the wait of the next start comes in the same enqueue call, and nothing between: both
  // may then be one piece of work.
  virtual void expect_run(bool /*run*/) noexcept {}
  virtual void start(device::Stream& stream, Sink& sink) = 0;
  virtual void wait(device::Stream& stream, Sink& sink) = 0;
  // From now on kernels of the program's start it and wait for it, too, by the handle that is
  // written: see PST_Request_device. Throws Error(unsupported), and nothing has changed then.
  virtual void enter_kernels(device::Stream& /*stream*/, Sink& /*sink*/, unsigned /*wait_blocks*/,
                             std::span<std::byte> /*handle*/) {
    throw base::Error(base::ErrorKind::unsupported,
                      label() + ": kernels move no messages by " + path() +
                          ": there are handles for messages in memory of a GPU, between GPUs that "
                          "address each other's memory");
  }
  // The next start comes on another stream. What is enqueued on `next` from now on runs when the
  // last wait on `last` has ended. It waits for nothing else where the plan can tell that end apart
  // from the rest of `last` (docs/semantics.md says where). `next` is in the
  // graph capture of that wait, or both are in none. `last` is null when it has been freed, which
  // it was not before it had run dry. Throws Error(stream), Error(resources).
  virtual void hand_over(device::Stream* last, device::Stream& next) = 0;
  // For plans that have changed streams: the enqueue call of a wait has flushed its stream.
  virtual void wait_flushed(device::Stream& /*stream*/) noexcept {}
  // Its work that a batch of calls on the stream holds is launched.
  virtual void launch_gathered(device::Stream& /*stream*/) noexcept {}
  // In stream order, after all work enqueued for this plan, the peer is told that this half is
  // gone. Then `ended(argument)` is called, from any thread of ours (never one that holds a lock of
  // ours). After that the plan may be deleted.
  virtual void close(device::Stream& stream, void (*ended)(void*), void* argument) = 0;
  // Closes at once a plan that was never started on a stream.
  virtual void close() = 0;
  // The same as the first, for a plan that knows by itself which streams it is used on. False: it
  // does not, and nothing has been done.
  virtual bool close_behind_own_streams(void (* /*ended*/)(void*), void* /*argument*/) noexcept {
    return false;
  }
  // The match has this half, which has its label by now.
  virtual void matched() noexcept {}
  // As far as can be seen now, for start number `epoch`.
  virtual PairState pair_state(Epoch epoch) const noexcept = 0;
  // "peer (ring in shared memory)": the way its messages take, for the pair's log line.
  virtual std::string path() const = 0;

  // What traces say of it: set by core once.
  const base::trace::TracedMessage& traced() const noexcept { return traced_; }
  virtual void set_traced(const base::trace::TracedMessage& message) { traced_ = message; }

 private:
  base::trace::TracedMessage traced_;
};

}  // namespace penstock::transport
