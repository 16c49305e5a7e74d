// SPDX-License-Identifier: Apache-2.0
// The promise that all messages of a communicator are enqueued at both ends
// (PST_Comm_enqueue_only), and what follows from it: messages between processes of a host go
// through lanes, and MPI matches nothing. What is larger than a lane's slots is brought by MPI, on
// a communicator of the library's, where the slot says by which tag. So are all messages between
// hosts, which both ends hand to MPI in the order of their numbers.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/settings.hpp"
#include "core/transports.hpp"
#include "enqueued/bundle_list.hpp"
#include "enqueued/envelope.hpp"
#include "group/communicator.hpp"
#include "group/mpi_member_group.hpp"
#include "peer/lane_board.hpp"

namespace penstock::enqueued {

class Promise final : public group::CommunicatorPromise {
 public:
  // Collective over the members. Throws base::Error on all of them.
  Promise(std::unique_ptr<group::MpiMemberGroup> members, core::Transports& transports,
          const base::Settings& settings);

  group::MemberGroup& members() noexcept { return *group_; }
  int rank() const noexcept { return group_->rank(); }
  MPI_Comm comm() const noexcept { return group_->comm(); }
  int next_mpi_tag() noexcept;  // under the engine's lock
  // Any thread. Throws base::Error, std::bad_alloc.
  Envelope& envelope(const EnvelopeKey& key);
  static bool needs_lane(const EnqueuedMessage& receive) noexcept;
  // Makes a lane for all of the bundle's receives that are of this one's envelope. `engine`: the
  // lock of what looks at it. Throws base::Error(resources), std::bad_alloc.
  void make_lane(const EnqueuedMessage& receive, const Bundle& bundle, std::mutex& engine);
  // ---- Lanes in memory of GPUs, for who makes or maps them; one call at a time, with the lock
  // held
  std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }
  peer::LaneBoard& board() noexcept { return *board_; }
  int world_rank(int member) const noexcept { return group_->world_rank(member); }
  // As many slots as the bundle's messages of the envelope may need. A slot takes the largest of
  // these and any of `wanted` bytes, but of no more than `most`; it has `least` bytes anyway.
  struct SlotBytes {
    std::size_t wanted, least, most;
  };
  static peer::LaneShape lane_shape(const Envelope& envelope, const Bundle& bundle,
                                    const SlotBytes& bytes) noexcept;

 private:
  void connect();

  const std::size_t most_bytes_;  // of a message that lies in a slot
  std::unique_ptr<group::MpiMemberGroup> group_;
  peer::Peer& peer_;
  std::mutex mutex_;
  std::unique_ptr<peer::LaneBoard> board_;                 // null: no shared memory
  std::vector<std::optional<peer::ArenaAddress>> boards_;  // by rank; nothing: no lanes
  std::unordered_map<EnvelopeKey, Envelope, HashEnvelope> envelopes_;
  int last_mpi_tag_ = 0;
};

}  // namespace penstock::enqueued
