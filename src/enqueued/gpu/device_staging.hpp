// SPDX-License-Identifier: Apache-2.0
// Pinned memory for the messages of one queue that lie in memory of a GPU, and who copies them.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "device/gpu/memory.hpp"
#include "device/gpu/stream.hpp"
#include "enqueued/bundle_list.hpp"
#include "enqueued/gpu/segment_lists.hpp"
#include "enqueued/gpu/staged_message.hpp"
#include "enqueued/message.hpp"
#include "enqueued/staging.hpp"
#include "enqueued/staging_ring.hpp"
#include "gpu/gpus.hpp"

namespace penstock::enqueued {

class DeviceStaging final : public Staging {
 public:
  // Reserves all memory that enqueue calls give out: they must not ask the driver, which may wait
  // for a device that waits for us. Throws base::Error.
  DeviceStaging(core::Queue& queue, std::shared_ptr<gpu::Gpus> gpus,
                const base::Settings& settings);

  QueueWords& words() noexcept override { return *static_cast<QueueWords*>(words_.get()); }
  std::unique_ptr<transport::Plan> make_plan(QueueMessages& messages,
                                             MessageEngine& engine) override;
  bool stage(EnqueuedMessage& message, MPI_Datatype type,
             std::optional<std::size_t> element) override;
  void keep_memory() noexcept override { gpus_->keep(memory_); }
  bool taken(const EnqueuedMessage& message) const noexcept override;
  bool claim(EnqueuedMessage& message) noexcept override;
  std::optional<base::Error> take(EnqueuedMessage& message) noexcept override;
  void end(EnqueuedMessage& message) noexcept override { leave(*message.staged); }

  // ---- The plan's, in the program's calls
  gpu::Gpus& gpus() noexcept { return *gpus_; }
  int device() const noexcept { return stream_.device(); }
  void set_id(std::uint32_t id) noexcept { id_ = id; }  // of the plan, in reports
  // The messages of a bundle go with its trigger; `send` is called for each that is to be copied to
  // pinned memory before.
  void begin_trigger() noexcept { ++triggered_; }
  template <class Send>
  void trigger(const Bundle& bundle, Send send) noexcept {
    for (EnqueuedMessage* message = bundle.first; message; message = message->next) {
      if (message->staged == nullptr) continue;
      if (message->sends())
        send(*message->staged);
      else
        add_receive(*message->staged);
    }
    if (std::exchange(open_, 0) != 0) marks_.push_back({triggered_, ring_.end()});
  }
  std::uint64_t triggered() const noexcept { return triggered_; }
  // A wait of the stream is enqueued for all that has been triggered; `receive` is called for each
  // message that is to be copied from pinned memory behind it.
  template <class Receive>
  void wait(Receive receive) noexcept {
    for (StagedMessage* const staged : receives_) {
      Taker nobody = Taker::nobody_yet;
      if (staged->taker.compare_exchange_strong(nobody, Taker::stream, std::memory_order_acq_rel))
        receive(*staged);
      leave(*staged);
    }
    receives_.clear();
    // What is enqueued from now on runs behind the wait.
    if (!marks_.empty()) ring_.give_back_to(marks_.back().end);
    marks_.clear();
  }

 private:
  // All pieces of the bundles up to this one end there.
  struct Mark {
    std::uint64_t bundle;
    StagingRing::Position end;
  };

  bool stage_bytes(EnqueuedMessage& message, std::byte* buffer, std::size_t bytes);
  bool stage_derived(EnqueuedMessage& message, MPI_Datatype type);
  bool is_on_device(const EnqueuedMessage& message, const std::byte* lowest);
  StagedMessage& take_piece(std::size_t bytes);
  void give_back_what_has_ended() noexcept;
  void add_receive(StagedMessage& staged) noexcept;
  void leave(StagedMessage& staged) noexcept;

  core::Queue& queue_;
  device::gpu::Stream& stream_;
  const std::shared_ptr<gpu::Gpus> gpus_;
  const bool gpu_aware_mpi_;
  std::shared_ptr<void> words_;
  std::shared_ptr<std::byte> memory_;
  std::shared_ptr<gpu::DeviceArena> arena_;
  gpu::KernelQueue* kernel_queue_;
  StagingRing ring_;
  device::gpu::KnownRegions regions_;
  base::FreeList<StagedMessage> pool_;
  SegmentLists lists_;
  std::uint32_t id_ = 0;
  std::uint64_t triggered_ = 0;           // bundles
  std::size_t open_ = 0;                  // messages staged since the last trigger
  std::vector<Mark> marks_;               // bundles that no wait of the stream has followed
  std::vector<StagedMessage*> receives_;  // of these
};

}  // namespace penstock::enqueued
