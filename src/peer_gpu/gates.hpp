// SPDX-License-Identifier: Apache-2.0
// Which ends of pairs stand at gates (gate.hpp): those for whose waits a GPU has no place, and
// those of ranks that take turns on one.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "base/settings.hpp"
#include "gpu/devices.hpp"
#include "peer/peer.hpp"
#include "peer_gpu/device_plan.hpp"
#include "peer_gpu/gate_pages.hpp"
#include "peer_gpu/pair_records.hpp"

namespace penstock::peer_gpu {

class Gates {
 public:
  Gates(const base::Settings& settings, int rank, peer::Peer& host, gpu::Devices& devices)
      : settings_(settings), rank_(rank), host_(host), devices_(devices) {}

  // What the kernels of that device can do; tried once a device. Throws Error.
  GateUse use_on(int device);
  // The sender's, which does not know yet where the receiver is.
  bool may_be_always(int rank, int device) const;
  // The receiver's, which knows both and decides.
  bool always(int rank, const OfferRecord& offer, const MemoryRecord& ours);
  // Likewise where both ends can stand at gates, and each decides alike.
  bool always(int rank, GateUse our_use, const MemoryRecord& ours, GateUse their_use,
              const MemoryRecord& theirs) const;

  // A gate for a half. The caller keeps it as long as the peer's kernels may open it.
  std::shared_ptr<Gate> take(EndRecord& end);
  // Once both ends have spoken: who stands at a gate, and whose the other one opens. Each message
  // that opens one costs a store into the host's memory.
  void join(int rank, DevicePair& pair, const EndRecord& ours, const EndRecord& theirs);

 private:
  GatePages& pages();
  bool take_turns(int rank, const MemoryRecord& ours, const MemoryRecord& theirs) const;
  void warn_of_turns(int rank, bool gated);

  const base::Settings& settings_;
  const int rank_;
  peer::Peer& host_;
  gpu::Devices& devices_;
  std::mutex mutex_;
  std::shared_ptr<GatePages> pages_;
  std::atomic<bool> warned_{false};
};

}  // namespace penstock::peer_gpu
