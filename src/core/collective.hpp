// SPDX-License-Identifier: Apache-2.0
// A collective operation of a communicator, as the match sees it: what its members tell each other,
// what they decide, and the messages between them. The room coll says how each is carried out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/trace.hpp"
#include "group/communicator.hpp"
#include "transport/message.hpp"
#include "transport/plan.hpp"
#include "transport/wire_record.hpp"

namespace penstock::core {

// A message from one member to another. The k-th from one to the other is the k-th on both ends.
struct CollectiveMessage {
  transport::Direction direction{};
  int peer = -1;  // rank in the communicator
  int tag = 0;
  std::byte* buffer = nullptr;
  std::size_t bytes = 0;
};

// One member's part of what has been decided.
class CollectivePart {
 public:
  virtual ~CollectivePart() = default;
  virtual const std::vector<CollectiveMessage>& messages() const noexcept = 0;
  virtual std::string algorithm() const = 0;
  virtual std::string transport() const { return "self"; }  // where there are no messages
  // `ends`: the matched ends of the messages, in their order. Where it throws it has taken none.
  virtual std::unique_ptr<transport::Plan> make_plan(
      std::vector<std::unique_ptr<transport::Plan>>&& ends) = 0;
  // All are ready, but this member has left: the others hear of it, beside what its ends tell them.
  virtual void close() noexcept {}
};

// What one member brings to one match.
class CollectiveOffer {
 public:
  virtual ~CollectiveOffer() = default;
  virtual transport::WireRecord record() const = 0;
  virtual std::unique_ptr<CollectivePart> prepare(const transport::WireRecord& choice) = 0;
};

// What had been chosen, and why a member cannot carry it out.
struct FailedChoice {
  transport::WireRecord choice;
  base::Error why;
};

class Collective {
 public:
  virtual ~Collective() = default;

  // "allreduce (MPI_COMM_WORLD, 8 bytes)"
  virtual std::string label() const = 0;
  virtual base::trace::TracedMessage traced() const { return {}; }
  // Of all members alike, and of no other collective or communicator: asked for at the match,
  // before which the communicator may have none.
  virtual group::CommunicatorId id() const noexcept = 0;
  // Its place among the collectives that one call waits for, the same on all members: those of a
  // communicator come as they have been made.
  virtual std::uint64_t turn() const noexcept = 0;
  virtual int rank() const noexcept = 0;                         // ours
  virtual const std::vector<int>& members() const noexcept = 0;  // ranks in MPI_COMM_WORLD
  // The collective outlives its offers' prepare().
  virtual std::unique_ptr<CollectiveOffer> offer() const = 0;
  // On member 0: from what all have told, in the order of their ranks, and at first without a
  // `failed` one. Throws base::Error, which all members get, where there is nothing (else) to
  // choose.
  virtual transport::WireRecord choose(std::span<const transport::WireRecord> told,
                                       const FailedChoice* failed) const = 0;
};

}  // namespace penstock::core
