// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "device/stream.hpp"
#include "transport/sink.hpp"

namespace penstock::transport {

// Ordered pairs with several processes over memory that is exposed to them. The epochs of all
// members that a call names are moved on together: by one launch, or by one counter of the network.
// In an epoch the exposing end posts, the other one completes what it moves, and the exposing end
// awaits that. Epochs are counted for each member, as calls may name different ones.
class PairGroup : public Waiter {
 public:
  using Members = std::span<const int>;  // by their place in the group, each once

  // Throws Error(unsupported): a stream it cannot serve.
  virtual void check_stream(const device::Stream& stream) const = 0;
  // Enqueue calls, on a stream that has passed that check and whose flush() ends each. Nothing here
  // blocks. From this point of the stream on the members may use what is exposed to them.
  virtual void post(Members members, device::Stream& stream, Sink& sink) = 0;
  // What is listed for the members moves when each of them has posted. The stream goes on when our
  // own buffers may be used again.
  virtual void complete(Members members, device::Stream& stream, Sink& sink) = 0;
  // The stream goes on when each of the members has completed.
  virtual void await(Members members, device::Stream& stream, Sink& sink) = 0;
  // Does what Plan::close does.
  virtual void close(device::Stream& stream, void (*ended)(void*), void* argument) = 0;
};

}  // namespace penstock::transport
