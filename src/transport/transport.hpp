// SPDX-License-Identifier: Apache-2.0
// What core asks of a transport. All cost sits in the match; the steady state is in Plan.
//
//   initialisation   address()              -> every process's own, which all gather
//                    add_peers(addresses)   -> the others can be reached
//                    peers_added()          -> all processes have added their peers
//   match, sender    offer(message)         -> what travels with the handshake's offer
//   match, receiver  accept(message, offer) -> its half, and what travels back
//   match, sender    connect(half, answer)  -> its half is complete; the receiver's once it knows
//
// Where the process that hands its half to match will not act for long, the other one completes the
// match alone. A sender's offer is accepted, and the receiver needs no confirmation. A receiver
// leaves an invitation:
//   match, receiver  invitation             -> what its sender needs
//   match, sender    accept_invitation()    -> its half, complete, and what travels back
//   match, receiver  connect()              -> its half is complete
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/verdict.hpp"
#include "transport/group.hpp"
#include "transport/message.hpp"
#include "transport/plan.hpp"
#include "transport/shared_memory.hpp"
#include "transport/window.hpp"

namespace penstock::transport {

// What has happened so far, and what limits it: a name and a number each.
using Counts = std::vector<std::pair<std::string, std::uint64_t>>;

using base::Verdict;

// The sender's half between offer and connect, or the receiver's that has left an invitation.
// Destroying it instead of connecting frees what it holds.
class Offer {
 public:
  virtual ~Offer() = default;
  virtual WireRecord record() const = 0;
  // It throws Error, and has closed the half towards the peer then.
  virtual std::unique_ptr<Plan> connect(std::span<const std::byte> answer) = 0;
};

// The receiver's half between accept and the sender's confirmation. Destroying it frees what it
// holds.
class Acceptance {
 public:
  virtual ~Acceptance() = default;
  virtual WireRecord record() const = 0;
  // Returns false when nothing can be refused in the sender's connect(), so that this half may be
  // used before that.
  virtual bool needs_confirmation() const { return true; }
  // The sender has connected, and may have begun: whatever can fail (memory, a thread) has been
  // done by accept(). Where something fails in spite of that, the half has been closed towards the
  // sender.
  virtual std::unique_ptr<Plan> confirm() = 0;
};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual std::string name() const = 0;

  virtual WireRecord address() = 0;
  // `addresses` are by world rank, and include our own.
  virtual void add_peers(std::span<const WireRecord> addresses) = 0;
  virtual void peers_added() {}
  // A queue has been made over the stream: whatever its enqueue calls will need is loaded and
  // allocated now. Throws Error.
  virtual void prepare(device::Stream&) {}

  // PST_Queue_wait has ended: what the program's starts have held may be counted as free.
  virtual void queue_waited() noexcept {}

  virtual Verdict usable() const = 0;  // in this process at all
  virtual Counts counts() const { return {}; }
  // Whether it serves this half, as far as one side can tell; both ends are asked.
  virtual Verdict can_serve(const Message& message) const = 0;
  // Whether it serves memory of a GPU on streams that wait for CUDA's legacy default stream too.
  virtual Verdict serves_blocking_streams() const { return base::accepted(); }
  virtual std::unique_ptr<Offer> offer(const Message& send) = 0;
  // `send` is the sender's message as described by the handshake (no buffer, no layout). Throws
  // Error: the next transport is tried.
  virtual std::unique_ptr<Acceptance> accept(const Message& receive, const Message& send,
                                             std::span<const std::byte> offer) = 0;
  // Makes the invitation of a receive whose sender is known, before its send is: see above. Null:
  // the transport cannot do without the receiver's acting. Throws Error.
  virtual std::unique_ptr<Offer> invite(const Message&) { return nullptr; }
  // `receive` is the receiver's message (no buffer, no layout; its bytes are what the buffer holds,
  // no fewer than the send's). Throws Error: the handshake above is gone through.
  virtual std::unique_ptr<Acceptance> accept_invitation(const Message& /*send*/,
                                                        const Message& /*receive*/,
                                                        std::span<const std::byte> /*invitation*/) {
    throw base::Error(base::ErrorKind::internal, name() + " leaves no invitations");
  }

  // Windows: all members ask about each other, take the first transport that serves both ways, open
  // their ends, exchange the records of the offers, and connect.
  virtual Verdict can_serve_window(const WindowMemory& /*ours*/, int /*peer*/) const {
    return {false, "it serves no windows"};
  }
  // Throws Error.
  virtual std::unique_ptr<WindowOffer> open_window(const WindowMemory& /*ours*/, int /*peer*/) {
    throw base::Error(base::ErrorKind::internal, name() + " serves no windows");
  }

  // A collective without messages: all members ask, open their parts of the first transport
  // that serves, exchange the records of the offers, and connect.
  virtual Verdict can_serve_group(const GroupMessage& /*ours*/) const {
    return {false, "it serves no collectives without messages"};
  }
  // Of what it serves by a direct exchange: how many bytes a member may store, or get, where this
  // is expected to be faster than messages.
  virtual std::size_t fastest_directly(const GroupMessage& /*ours*/) const { return 0; }
  // On one member, from the records of all: whether their parts fit together.
  virtual Verdict can_connect_group(std::span<const WireRecord> /*records*/) const {
    return base::accepted();
  }
  // Throws Error.
  virtual std::unique_ptr<GroupOffer> open_group(const GroupMessage& /*ours*/) {
    throw base::Error(base::ErrorKind::internal,
                      name() + " serves no collectives without messages");
  }

  // Memory of the program's that other processes use as their own: its owner shares it by the first
  // transport that can, and all others open it there. Why not: empty where it never does.
  virtual Verdict can_share(const void* /*memory*/, std::size_t /*bytes*/) const {
    return base::refused("");
  }
  virtual SharedMemory share(const void* /*memory*/, std::size_t /*bytes*/) {
    throw base::Error(base::ErrorKind::internal, name() + " shares no memory");
  }
  // Where it is for us, as long as that is kept. `owner`: world rank. Throws Error.
  virtual std::shared_ptr<std::byte> open_shared(int /*owner*/,
                                                 std::span<const std::byte> /*record*/) {
    throw base::Error(base::ErrorKind::internal, name() + " shares no memory");
  }
};

}  // namespace penstock::transport
