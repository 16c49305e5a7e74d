// SPDX-License-Identifier: Apache-2.0
// Who uses which GPU on this host, and how many places for kernels that wait each process has
// taken: a table a process, in its shared memory, that it alone writes and all others read.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "gpu/devices.hpp"
#include "gpu/wait_places.hpp"
#include "group/world.hpp"
#include "peer/peer.hpp"

namespace penstock::peer_gpu {

using gpu::DeviceIdentity, gpu::WaitPlaces;
using vendor::DeviceIdentity;

class GpuShares : public std::enable_shared_from_this<GpuShares> {
 public:
  // `most`: places on a GPU, at most; a small one has fewer.
  explicit GpuShares(unsigned most) : most_(most) {}

  // Once `host` has announced itself: where this process's table is. Nothing, where it has no
  // shared memory; then it counts for itself alone.
  transport::WireRecord address(peer::Peer& host);
  void add_peers(group::World& world, const peer::Peer& host,
                 std::span<const transport::WireRecord> addresses);  // by world rank
  // Before `host` and `world` end: from now on this process counts for itself alone. Places may be
  // given back later.
  void leave() noexcept;

  // For queues on a device of ours that has so many multiprocessors, whose waits may stand at
  // gates, or not. Throws Error.
  std::shared_ptr<WaitPlaces> places(const DeviceIdentity& gpu, unsigned processors, bool gates);

 private:
  class Places;
  struct GpuUse {
    DeviceIdentity gpu{};
    std::uint32_t in_use = 0;  // by this process: some of its queues run there
    std::uint32_t wide = 0;    // kernels of queues and graphs that may wait: all blocks stay
    std::uint32_t narrow = 0;  // one block stays
    std::uint32_t pairs = 0;   // and for ends of pairs
  };
  static constexpr std::size_t most_gpus = 32;
  using Table = std::array<GpuUse, most_gpus>;

  struct Totals {
    unsigned processes = 0;
    unsigned wide = 0;
    unsigned narrow = 0;
    unsigned pairs = 0;
  };
  std::size_t use_of(const DeviceIdentity& gpu);
  void count(std::size_t use, std::uint32_t GpuUse::*what, std::uint32_t more) noexcept;
  Totals totals(const DeviceIdentity& gpu) const noexcept;

  const unsigned most_;
  mutable std::mutex mutex_;
  Table own_{};  // where there is no shared memory
  Table* ours_ = &own_;
  struct Other {
    const Table* table;
    const std::atomic<bool>* dead;
  };
  std::vector<Other> others_;
};

}  // namespace penstock::peer_gpu
