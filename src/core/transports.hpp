// SPDX-License-Identifier: Apache-2.0
// The transports of this process, best first, and which of them a pair takes.
#pragma once

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "base/settings.hpp"
#include "group/world.hpp"
#include "peer/peer.hpp"
#include "transport/transport.hpp"

namespace penstock::gpu {
class Gpus;
}

namespace penstock::core {

class Transports {
 public:
  struct Entry {
    std::unique_ptr<transport::Transport> transport;
    bool allowed;  // by PENSTOCK_TRANSPORT
  };

  // Collective over MPI_COMM_WORLD: transports introduce themselves to their counterparts. `spin`:
  // how long threads of theirs spin. Throws base::Error on all processes.
  Transports(const base::Settings& settings, group::World& world, std::chrono::microseconds spin);
  // Takes transports that have added their peers, without `peer`: for tests of matching.
  explicit Transports(std::vector<Entry> entries) : entries_(std::move(entries)) {}

  const std::vector<Entry>& entries() const noexcept { return entries_; }
  // Prepares a new queue's stream for all allowed transports. Throws Error.
  void prepare(device::Stream& stream) const {
    for (const Entry& entry : entries_)
      if (entry.allowed) entry.transport->prepare(stream);
  }
  // Tells the transports that a queue has been waited for.
  void queue_waited() const noexcept {
    for (const Entry& entry : entries_) entry.transport->queue_waited();
  }
  peer::Peer& peer() noexcept { return *peer_; }  // owns PST_Alloc_mem's memory
  const peer::Peer& peer() const noexcept { return *peer_; }
  // What all that serve GPUs share; null in a library that is built without.
  const std::shared_ptr<gpu::Gpus>& gpus() const noexcept { return gpus_; }

  // Whether this end can use the transport for the message, and why (not).
  static transport::Verdict judge(const Entry& entry, const transport::Message& message);

 private:
  std::vector<transport::Transport*> in_order_of_adding() const;
  bool reached_by_peer(group::World& world) const;

  std::shared_ptr<gpu::Gpus> gpus_;
  std::vector<Entry> entries_;
  bool all_reached_ = false;
  peer::Peer* peer_ = nullptr;
};

}  // namespace penstock::core
