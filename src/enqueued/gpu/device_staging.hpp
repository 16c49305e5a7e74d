// SPDX-License-Identifier: Apache-2.0
// Which messages of a queue are staged, and how what they bring is copied outside the stream.
#pragma once

#include <atomic>
#include <memory>

#include "device/gpu.hpp"
#include "device/gpu/stream.hpp"
#include "enqueued/gpu/copy_work.hpp"
#include "enqueued/gpu/device_lanes.hpp"
#include "enqueued/gpu/segment_lists.hpp"
#include "enqueued/message.hpp"
#include "enqueued/staged_pieces.hpp"
#include "enqueued/staging.hpp"
#include "gpu/gpus.hpp"

namespace penstock::enqueued {

class Promise;

class DeviceStaging final : public Staging {
 public:
  // Reserves the pinned memory: a call that enqueues must not ask the driver for it, which may wait
  // for a device that waits for us. (The first message of a datatype with several segments has
  // their list copied to the device.) Throws base::Error.
  DeviceStaging(core::Queue& queue, std::shared_ptr<gpu::Gpus> gpus, const base::Settings& settings,
                LaneMemoryPlace& lane_memory);

  QueueWords& words() noexcept override { return *words_; }
  StagedPieces& pieces() noexcept override { return pieces_; }
  std::unique_ptr<transport::Plan> make_plan(QueueMessages& messages,
                                             MessageEngine& engine) override;
  bool stage(EnqueuedMessage& message, MPI_Datatype type,
             std::optional<std::size_t> element) override;
  void choose_lanes(Bundle& bundle) override;
  void note_what_has_run() noexcept override;
  bool has_run_dry() const noexcept override;
  void forget_allocations() noexcept override { known_allocations_.forget(); }
  void keep_memory() noexcept override { gpus_->keep(memory_); }
  std::optional<base::Error> copy_for_program(EnqueuedMessage& message) noexcept override;

  // The words that the stream's kernels keep of the engine's sends: see SentWords.
  SentWords* sent_words() const noexcept { return reinterpret_cast<SentWords*>(sent_words_.get()); }

  // ---- The plan's
  // k: the kernel of a wait for bundles up to k has been launched, which does not tell the host.
  std::atomic<std::uint64_t>& launched() noexcept { return launched_; }
  // A kernel that copies could not be launched, or none will run any more: nothing will be copied
  // by the stream.
  void stream_has_ended() noexcept { store(words_->gave_up, no_more); }
  gpu::Gpus& gpus() noexcept { return *gpus_; }
  int device() const noexcept { return stream_.device(); }
  void set_id(std::uint32_t id) noexcept { id_ = id; }  // of the plan, in reports

 private:
  bool stage_bytes(EnqueuedMessage& message, std::byte* buffer, std::size_t bytes);
  void take_from_lane(EnqueuedMessage& message);
  void unpack(const gpu::PackWork& packed) const;
  void tell_words(const EnqueuedMessage& message);
  bool waits_at_gates() const noexcept;
  void choose_lane(EnqueuedMessage& message, const Bundle& bundle);
  bool is_quiet(const EnqueuedMessage& message) const noexcept;
  void choose_receive_lane(EnqueuedMessage& message, const Bundle& bundle);
  void choose_send_lane(EnqueuedMessage& message);
  GpuLaneMemory& lane_memory(const Promise& promise);
  bool stage_derived(EnqueuedMessage& message, MPI_Datatype type);
  bool is_on_device(const EnqueuedMessage& message, const std::byte* lowest);

  device::gpu::Stream& stream_;
  const std::shared_ptr<gpu::Gpus> gpus_;
  LaneMemoryPlace& lane_memory_;
  const bool gpu_aware_mpi_;
  const std::size_t most_in_slots_;  // bytes of a message that a lane takes
  std::shared_ptr<QueueWords> words_;
  std::shared_ptr<std::byte> memory_, marks_;
  std::shared_ptr<gpu::DeviceArena> arena_;
  std::shared_ptr<std::byte> sent_words_;
  std::shared_ptr<std::byte> no_failure_;  // of a queue, for kernels outside the stream
  StagedPieces pieces_;
  device::KnownGpuAllocations known_allocations_;
  SegmentLists lists_;
  std::uint32_t id_ = 0;
  std::atomic<std::uint64_t> launched_{0};
};

}  // namespace penstock::enqueued
