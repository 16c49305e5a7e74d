// SPDX-License-Identifier: Apache-2.0
// A collective as one member has called it, for the match: what it tells the others, and what they
// make of that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "coll/algorithms.hpp"
#include "coll/local_steps.hpp"
#include "coll/shape.hpp"
#include "core/collective.hpp"
#include "datatype/signature.hpp"
#include "group/communicator.hpp"

namespace penstock::coll {

// Why a member cannot take part is an argument like others: all of them hear it at the match.
struct Arguments {
  CollectiveKind kind = CollectiveKind::barrier;
  Memory memory;
  int gpu = -1;  // whose memory that is; -1: the host's; known at the match, as is `node`
  bool in_place = false;
  int root = 0;
  std::size_t element = 1;                 // bytes of one
  std::size_t count = 0;                   // as Shape::count
  std::vector<Block> sends, receives;      // as in Shape
  std::vector<int> destinations, sources;  // as in Shape
  Combination combination;
  // What the blocks are made of where they are equal, and what a broadcast brings.
  datatype::Signature sent, received;
  std::string algorithm;  // the only one that may be taken, as a wish; empty: any
  // The algorithm without messages that PENSTOCK_TUNE's file names; known at the match.
  std::string tuned_direct;
  std::string refusal;  // empty: there is none
  base::ErrorKind refusal_kind = base::ErrorKind::none;
  std::shared_ptr<const group::Communicator> communicator;
  std::vector<int> members;  // ranks in MPI_COMM_WORLD
  std::vector<int> team;     // of an allreduce of teams: ours, by rank in the communicator
  int node = 0;              // the first of these on this one's node
  std::uint64_t number = 0;  // of the collective, among those of its communicator
};

class CollectiveCall final : public core::Collective {
 public:
  explicit CollectiveCall(Arguments arguments);

  std::string label() const override;
  base::trace::TracedMessage traced() const override;
  group::CommunicatorId id() const noexcept override;
  std::uint64_t turn() const noexcept override;
  int rank() const noexcept override { return arguments_.communicator->rank; }
  const std::vector<int>& members() const noexcept override { return arguments_.members; }
  std::unique_ptr<core::CollectiveOffer> offer() const override;
  transport::WireRecord choose(std::span<const transport::WireRecord> told,
                               const core::FailedChoice* failed) const override;

 private:
  class Offer;

  Shape shape() const;
  std::size_t bytes() const;

  const Arguments arguments_;
};

}  // namespace penstock::coll
