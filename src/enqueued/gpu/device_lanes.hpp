// SPDX-License-Identifier: Apache-2.0
// The two ends of an envelope's lanes in memory of GPUs. A receiver makes a lane when it first has
// receives into memory of its GPU, and one more, of the largest slots there are, when a larger one
// comes. A sender maps them when it finds them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "enqueued/device_lanes.hpp"
#include "enqueued/gpu/lane_work.hpp"
#include "enqueued/staged_message.hpp"
#include "enqueued/words.hpp"
#include "gpu/device_arena.hpp"
#include "gpu/gpus.hpp"
#include "peer/lane_board.hpp"
#include "peer_gpu/exposed_memory.hpp"

namespace penstock::enqueued {

// What the board says of such a lane. Receives of lower numbers may have been told of their lanes
// before this one was made, so their messages do not come by it.
struct LaneRecord {
  peer_gpu::MemoryRecord memory;
  Number first = 0;
};

class GpuLaneMemory final : public LaneMemory {
 public:
  GpuLaneMemory(int own_rank, std::shared_ptr<gpu::Gpus> gpus)
      : gpus_(std::move(gpus)), remote_(own_rank, gpus_->devices()) {}

  // Lanes lie in slabs of their own, so that no two owners map one slab. What is copied out of them
  // waits for nothing that is done to others. Throw base::Error. Any thread.
  struct OnDevice {
    std::shared_ptr<gpu::DeviceArena> arena;
    cudaStream_t copies = nullptr;  // for good, as the arena
  };
  OnDevice& on(int device);
  gpu::Devices& devices() noexcept { return gpus_->devices(); }
  peer_gpu::RemoteMemory& remote() noexcept { return remote_; }

 private:
  const std::shared_ptr<gpu::Gpus> gpus_;
  std::mutex mutex_;
  std::map<int, OnDevice> devices_;
  peer_gpu::RemoteMemory remote_;
};

class ReceiveLanes final : public DeviceLanes {
 public:
  ReceiveLanes(int device, std::uint64_t most) : device_(device), most_(most) {}

  int device() const noexcept { return device_; }
  bool empty() const noexcept { return count_.load(std::memory_order_relaxed) == 0; }
  // Whether a message of so many bytes asks for one more.
  bool lacks(std::uint64_t bytes) const noexcept;
  // Begins to make one. Later, when it is there, its sender may be told of it: what this returns
  // then, once. Throw base::Error, and then there will be no more of them.
  void begin(GpuLaneMemory& memory, const peer::LaneShape& shape);
  struct Made {
    peer::LaneShape shape;
    LaneRecord record;
  };
  std::optional<Made> finish();
  // How a kernel looks for that message.
  void use(LaneUse& lane, Number number) noexcept;

  std::optional<std::uint64_t> look(Number number) override;
  void take(Number number, std::byte* to, std::uint64_t bytes) override;

 private:
  struct Head {
    Cell cells[head_cells];
    LanePlace place;
    std::uint64_t bytes = 0;
  };
  std::optional<Head> find(Number number);
  std::vector<Cell> cells_behind(const Head& head);
  void copy(void* to, const void* from, std::uint64_t bytes);

  const int device_;
  const std::uint64_t most_;  // bytes of the largest slots
  std::atomic<int> count_{0};
  std::array<DeviceLane, LaneUse::most_lanes> lanes_;
  std::array<std::shared_ptr<std::byte>, LaneUse::most_lanes> owners_;
  gpu::DeviceArena* arena_ = nullptr;
  cudaStream_t copies_ = nullptr;
  const gpu::Devices* devices_ = nullptr;
  std::shared_ptr<std::byte> begun_;  // the memory of one that is being made
  peer::LaneShape begun_shape_;
  bool no_more_ = false;
  Number last_told_ = 0;  // the highest number whose receive has been told of its lanes
};

class SendLanes final : public DeviceLanes {
 public:
  explicit SendLanes(int device) : device_(device) {}

  int device() const noexcept { return device_; }
  bool lacks(std::uint64_t bytes) const noexcept {
    return count_ == 0 || (bytes > lanes_[count_ - 1].slot_bytes() && count_ < LaneUse::most_lanes);
  }
  // Throws base::Error.
  void add(GpuLaneMemory& memory, int owner, const peer::LaneEntry& entry);
  // How a kernel of that queue's bundle, which is being triggered, sends the message; false: it
  // cannot, as a kernel of another queue may still be at the lane, or too many messages of the
  // bundle come before it.
  bool use(LaneUse& lane, Number number, std::uint64_t bytes,
           const std::shared_ptr<QueueWords>& queue, std::uint64_t bundle);

 private:
  const int device_;
  int count_ = 0;
  int usable_ = 0;  // of them, those whose words are there
  std::array<DeviceLane, LaneUse::most_lanes> lanes_;
  std::array<std::shared_ptr<std::byte>, LaneUse::most_lanes> owners_, words_;
  gpu::DeviceArena* arena_ = nullptr;
  std::array<Number, LaneUse::most_lanes> firsts_{};  // LaneRecord::first
  // Whose kernels use them, up to which bundle, and its first message of this envelope.
  std::shared_ptr<QueueWords> user_;
  std::uint64_t bundle_ = 0;
  Number first_of_bundle_ = 0;
};

}  // namespace penstock::enqueued
