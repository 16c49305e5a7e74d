// SPDX-License-Identifier: Apache-2.0
// Which messages of a bundle kernels move by lanes, and what lies in a lane that no kernel looks
// into.
#include <span>

#include "device/gpu/word_operations.hpp"
#include "enqueued/gpu/device_staging.hpp"
#include "enqueued/promise.hpp"

namespace penstock::enqueued {

using base::Error;

// ---- At a trigger

// How many bytes a receive with a request got is asked for when its piece may be another message's.
void DeviceStaging::tell_words(const EnqueuedMessage& message) {
  StagedMessage& staged = *message.staged;
  staged.lane.serial = staged.end;
  staged.lane.mark = staged.mark;
  if (message.request == nullptr || message.sends()) return;
  if (!staged.report)
    staged.report = std::static_pointer_cast<std::uint64_t>(gpus_->pinned().take());
  staged.lane.report = staged.report.get();
}

// They take only so many kernels that wait, so nothing that a kernel must look for may come.
bool DeviceStaging::waits_at_gates() const noexcept {
  return gpus_->kernel_queue_on(stream_).choose_standing(stream_) == gpu::Standing::at_gates &&
         device::gpu::has_word_operations();
}

// A bundle whose trigger has failed may be triggered again, and may have been quiet before. The
// lock is held as long as messages of one promise follow one another.
void DeviceStaging::choose_lanes(Bundle& bundle) {
  bundle.quiet = false;
  if (most_in_slots_ == 0 || waits_at_gates()) return;
  const Promise* locked = nullptr;
  std::unique_lock<std::mutex> lock;
  bool quiet = true;
  for (EnqueuedMessage& message : bundle) {
    PromisedMessage& promised = message.promised;
    if (message.staged && promised.envelope && promised.envelope->by_lanes) {
      if (Promise& promise = promised.envelope->promise; &promise != locked) {
        lock = {};
        lock = promise.lock();
        locked = &promise;
      }
      choose_lane(message, bundle);
    }
    promised.by_kernel = message.staged && message.staged->lane.stands();
    promised.quiet = is_quiet(message);
    quiet &= promised.quiet;
  }
  bundle.quiet = quiet;
}

bool DeviceStaging::is_quiet(const EnqueuedMessage& message) const noexcept {
  if (message.request) return false;
  return message.peer == MPI_PROC_NULL ||
         (message.promised.by_kernel && message.bytes <= most_in_slots_);
}

// Without a lane, whyever, a message goes by the engine.
void DeviceStaging::choose_lane(EnqueuedMessage& message, const Bundle& bundle) {
  try {
    if (message.sends())
      choose_send_lane(message);
    else
      choose_receive_lane(message, bundle);
  } catch (const Error&) {
    message.staged->lane = {};
  }
}

GpuLaneMemory& DeviceStaging::lane_memory(const Promise& promise) {
  const std::lock_guard lock(lane_memory_.mutex);
  std::unique_ptr<LaneMemory>& made = lane_memory_.memory;
  if (!made) made = std::make_unique<GpuLaneMemory>(promise.world_rank(promise.rank()), gpus_);
  return static_cast<GpuLaneMemory&>(*made);
}

void DeviceStaging::choose_receive_lane(EnqueuedMessage& message, const Bundle& bundle) {
  Envelope& envelope = *message.promised.envelope;
  auto* lanes = static_cast<ReceiveLanes*>(envelope.device_lanes.get());
  if (lanes == nullptr) {
    envelope.device_lanes = std::make_unique<ReceiveLanes>(stream_.device(), most_in_slots_);
    lanes = static_cast<ReceiveLanes*>(envelope.device_lanes.get());
    envelope.on_device.store(lanes, std::memory_order_release);
  }
  if (lanes->device() != stream_.device()) return;
  if (lanes->lacks(message.bytes)) {
    const std::size_t wanted = lanes->empty() ? 0 : most_in_slots_;
    lanes->begin(lane_memory(envelope.promise),
                 Promise::lane_shape(envelope, bundle, {wanted, small_bytes, most_in_slots_}));
  }
  if (const auto made = lanes->finish())
    envelope.promise.board().add_elsewhere(envelope.key.peer, envelope.key.tag, made->shape,
                                           std::as_bytes(std::span(&made->record, 1)));
  if (lanes->empty()) return;
  lanes->use(message.staged->lane, message.promised.number);
  tell_words(message);
}

void DeviceStaging::choose_send_lane(EnqueuedMessage& message) {
  if (message.staged->packed || message.bytes > most_in_slots_) return;
  Envelope& envelope = *message.promised.envelope;
  auto* lanes = static_cast<SendLanes*>(envelope.device_lanes.get());
  if (lanes == nullptr || lanes->lacks(message.bytes)) {
    const auto entry =
        envelope.device_search.find_elsewhere(envelope.promise.rank(), envelope.key.tag);
    if (entry) {
      if (lanes == nullptr) {
        envelope.device_lanes = std::make_unique<SendLanes>(stream_.device());
        lanes = static_cast<SendLanes*>(envelope.device_lanes.get());
      }
      lanes->add(lane_memory(envelope.promise), envelope.promise.world_rank(envelope.key.peer),
                 *entry);
    }
  }
  if (lanes == nullptr || lanes->device() != stream_.device()) return;
  if (lanes->use(message.staged->lane, message.promised.number, message.bytes, words_,
                 pieces_.triggered() + 1))
    tell_words(message);
}

// ---- The engine's

// Out of a lane, to where it is copied from, or to the buffer itself. Throws base::Error.
void DeviceStaging::take_from_lane(EnqueuedMessage& message) {
  const StagedMessage& staged = *message.staged;
  DeviceLanes& lanes = *message.promised.envelope->on_device.load(std::memory_order_acquire);
  const std::uint64_t bytes = lanes.look(message.promised.number).value_or(0);
  const bool fits = bytes <= staged.bytes;
  lanes.take(message.promised.number, staged.packed ? staged.piece : staged.buffer,
             fits ? bytes : 0);
  message.promised.gone = true;
  if (!fits) throw too_long_error(message, bytes);
  *staged.received = bytes;
  *staged.lane.report = bytes;
}

}  // namespace penstock::enqueued
