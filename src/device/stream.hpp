// SPDX-License-Identifier: Apache-2.0
// The verbs that every kind of stream offers to the layers below, and nothing of their vendors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/no_copy.hpp"

namespace penstock::device {

enum class StreamKind : std::uint8_t { host, cuda };  // cuda: a GPU's, with HIP too

class Stream : private base::NoCopy {
 public:
  virtual ~Stream() = default;

  StreamKind kind() const noexcept { return kind_; }

  // Blocks the caller until everything enqueued before the call has ended. It must not be called
  // while the stream is being captured. While it waits it calls `meanwhile` (if any) from the
  // calling thread, about every 100 us, and up to every ms while that says that nothing is to be
  // done. It may not throw.
  virtual void synchronize(const std::function<bool()>& meanwhile) = 0;
  // Begins an enqueue call for several requests. Throws Error(resources) where the stream has no
  // memory for that many more pieces of work, so that not a part of them is enqueued.
  virtual void make_room(std::size_t /*pieces*/) {}
  // Ends an enqueue call: work of several requests that was gathered goes to the stream now.
  virtual void flush() noexcept {}
  // Ends the starts of a call whose waits come next, with nothing between: where both can be one
  // piece of work, they are left to the call's flush().
  virtual void end_starts() noexcept { flush(); }
  // Ends an enqueue call whose launch is left to a later flush: what follows belongs to another
  // call.
  virtual void end_gathered_call() noexcept {}
  // The queue over this stream goes: no queue is told about failures of its work any more.
  virtual void leave() noexcept {}
  // Tells an enqueue call of the stream's queue the graph capture that the stream is in, 0 for
  // none. Work of a capture runs when its graph is launched.
  virtual std::uint64_t capture() const { return 0; }
  // Whether the stream is in a capture, for any thread at any time.
  virtual bool is_captured() const noexcept { return false; }
  // Makes what is enqueued here from now on run after all that `other`, a stream of the same kind,
  // holds by now. Neither is captured.
  virtual void come_behind(const Stream& /*other*/) noexcept {}
  // Blocks until all that the stream's device has been given has ended: for a stream that may have
  // been destroyed, which nothing may ask any more.
  virtual void wait_for_device() const noexcept {}
  // True when everything enqueued has ended. Does not block.
  virtual bool idle() const = 0;

 protected:
  explicit Stream(StreamKind kind) noexcept : kind_(kind) {}

 private:
  StreamKind kind_;
};

}  // namespace penstock::device
