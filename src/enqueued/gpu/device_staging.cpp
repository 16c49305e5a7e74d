// SPDX-License-Identifier: Apache-2.0
#include "enqueued/gpu/device_staging.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/reserve.hpp"
#include "device/gpu.hpp"
#include "device/gpu/memory.hpp"
#include "device/gpu/runtime.hpp"
#include "enqueued/gpu/copy_batch.hpp"
#include "enqueued/gpu/kernel_message_plan.hpp"
#include "enqueued/queue_messages.hpp"
#include "gpu/pack_kernels.hpp"
#include "group/mpi_layout.hpp"

namespace penstock::enqueued {

using base::Error;
using base::ErrorKind;

namespace {

static_assert(sizeof(QueueWords) <= gpu::PinnedPool::piece);

device::gpu::Stream& stream_of(core::Queue& queue) noexcept {
  return static_cast<device::gpu::Stream&>(queue.stream());
}

}  // namespace

DeviceStaging::DeviceStaging(core::Queue& queue, std::shared_ptr<gpu::Gpus> gpus,
                             const base::Settings& settings)
    : queue_(queue),
      stream_(stream_of(queue)),
      gpus_(std::move(gpus)),
      gpu_aware_mpi_(settings.gpu_aware_mpi),
      words_(gpus_->pinned().take()),
      memory_(gpus_->pinned().take(std::max<std::size_t>(settings.queue_staging, 1))),
      arena_(gpus_->devices().arena(stream_.device())),
      kernel_queue_(&gpus_->kernel_queue_on(stream_)),
      ring_(settings.queue_staging),
      lists_(arena_) {
  gpus_->equip<CopyBatch>(stream_, gpu::LaunchStep::messages, load_copies);
  gpus_->equip<CopyBatch>(stream_, gpu::LaunchStep::unpacked, load_copies);
  gpus_->equip_packing(stream_);
}

std::unique_ptr<transport::Plan> DeviceStaging::make_plan(QueueMessages& messages,
                                                          MessageEngine& engine) {
  return std::make_unique<KernelMessagePlan>(*this, messages, engine);
}

// ---- Pieces

bool DeviceStaging::stage(EnqueuedMessage& message, MPI_Datatype type,
                          std::optional<std::size_t> element) {
  if (message.count == 0 || message.peer == MPI_PROC_NULL) return false;
  if (!element) return stage_derived(message, type);
  auto* const buffer = static_cast<std::byte*>(message.buffer);
  const std::size_t bytes = static_cast<std::size_t>(message.count) * *element;
  return bytes != 0 && is_on_device(message, buffer) && stage_bytes(message, buffer, bytes);
}

// What MPI has in the piece are its bytes without gaps; an int counts as many as a piece can be.
bool DeviceStaging::stage_bytes(EnqueuedMessage& message, std::byte* buffer, std::size_t bytes) {
  message.bytes = bytes;
  StagedMessage& staged = take_piece(bytes);
  staged.buffer = buffer;
  staged.bytes = bytes;
  staged.packed.reset();
  message.staged = &staged;
  message.buffer = staged.piece;
  message.type = MPI_BYTE;
  message.count = static_cast<int>(bytes);
  return true;
}

bool DeviceStaging::stage_derived(EnqueuedMessage& message, MPI_Datatype type) {
  const group::MpiLayout layout(type, message.count);
  auto* const lowest = reinterpret_cast<std::byte*>(
      reinterpret_cast<std::intptr_t>(message.buffer) + layout.lowest());
  if (layout.bytes() == 0 || !is_on_device(message, lowest)) return false;
  if (!layout.refusal().empty())
    throw Error(ErrorKind::argument, message.label() + ": " + layout.refusal());
  if (!layout.contiguous() && !layout.segments())
    throw Error(ErrorKind::unsupported, message.label() + ": " + transport::undescribed_text);
  const datatype::Segment* list = nullptr;
  if (!layout.contiguous())
    list = lists_.find(layout.segments(), triggered_ + 1, load(words().taken));
  stage_bytes(message, lowest, layout.bytes());
  if (layout.contiguous()) return true;
  StagedMessage& staged = *message.staged;
  staged.packed = gpu::pack_work(*layout.segments(), list, lowest, staged.piece, staged.bytes);
  staged.packed->id = id_;
  return true;
}

// False too where MPI takes it as it lies there.
bool DeviceStaging::is_on_device(const EnqueuedMessage& message, const std::byte* lowest) {
  const device::gpu::MemoryRegion region = regions_.look_at(lowest);
  if (!region.on_device) return false;
  if (gpu_aware_mpi_) {
    if (!stream_.waits_for_legacy_stream()) return false;
    throw Error(ErrorKind::unsupported,
                message.label() + ": a GPU-aware MPI makes calls of " PENSTOCK_GPU
                                  " of its own, for which the queue's stream must be one that does "
                                  "not wait for the legacy default stream");
  }
  if (!region.managed && region.device != stream_.device())
    throw Error(ErrorKind::unsupported,
                fmt::format("{}: the buffer is on device {}, the queue's stream on device {}",
                            message.label(), region.device, stream_.device()));
  return true;
}

// Room in the lists comes first: a trigger must not fail for want of it.
StagedMessage& DeviceStaging::take_piece(std::size_t bytes) {
  base::reserve_for(receives_, receives_.size() + ++open_);
  base::reserve_for(marks_, marks_.size() + 1);
  StagedMessage& staged = pool_.take();
  auto at = ring_.take(bytes);
  if (!at) {
    give_back_what_has_ended();
    at = ring_.take(bytes);
  }
  if (!at) {
    pool_.give_back(staged);
    throw Error(ErrorKind::resources,
                fmt::format("a message of {} bytes finds no room in the queue's {} bytes of pinned "
                            "memory, of which {} are in use until the next "
                            "PST_Enqueue_wait_outstanding: wait sooner, or raise "
                            "PENSTOCK_QUEUE_STAGING",
                            bytes, ring_.size(), ring_.used()));
  }
  staged.piece = memory_.get() + *at;
  staged.taker.store(Taker::nobody_yet, std::memory_order_relaxed);
  staged.owners.store(1, std::memory_order_relaxed);
  return staged;
}

// A program that completes requests need not wait on the stream.
void DeviceStaging::give_back_what_has_ended() noexcept {
  const std::uint64_t completed = load(words().completed);
  auto receive = receives_.begin();
  auto mark = marks_.begin();
  for (; mark != marks_.end() && mark->bundle <= completed; ++mark) {
    while (receive != receives_.end() && (*receive)->bundle <= mark->bundle &&
           (*receive)->taker.load(std::memory_order_acquire) == Taker::program &&
           (*receive)->owners.load(std::memory_order_acquire) == 1)
      leave(**receive++);
    if (receive != receives_.end() && (*receive)->bundle <= mark->bundle) break;
    ring_.give_back_to(mark->end);
  }
  receives_.erase(receives_.begin(), receive);
  marks_.erase(marks_.begin(), mark);
}

void DeviceStaging::add_receive(StagedMessage& staged) noexcept {
  staged.bundle = triggered_;
  staged.owners.store(2, std::memory_order_relaxed);
  receives_.push_back(&staged);
}

void DeviceStaging::leave(StagedMessage& staged) noexcept {
  if (staged.owners.fetch_sub(1, std::memory_order_acq_rel) == 1) pool_.give_back(staged);
}

// ---- The engine's

bool DeviceStaging::taken(const EnqueuedMessage& message) const noexcept {
  const auto& words = *static_cast<const QueueWords*>(words_.get());
  return message.staged->taker.load(std::memory_order_acquire) == Taker::stream &&
         load(words.taken) >= message.staged->bundle;
}

bool DeviceStaging::claim(EnqueuedMessage& message) noexcept {
  Taker nobody = Taker::nobody_yet;
  return message.staged->taker.compare_exchange_strong(nobody, Taker::program,
                                                       std::memory_order_acq_rel);
}

// As long as the launch, or the copy, takes to run dry on a stream of the library's.
std::optional<Error> DeviceStaging::take(EnqueuedMessage& message) noexcept {
  const StagedMessage& staged = *message.staged;
  try {
    if (!staged.packed) {
      arena_->write(staged.buffer, staged.piece, staged.bytes);
      return std::nullopt;
    }
    const device::gpu::DeviceGuard guard(stream_.device());
    const device::gpu::RelaxedCaptures relaxed;
    gpu::Launch launch = kernel_queue_->launch_on(arena_->stream());
    device::gpu::check(gpu::launch_unpacking(launch, {&*staged.packed, 1}), "unpacking");
    device::gpu::check(cudaStreamSynchronize(arena_->stream()), "cudaStreamSynchronize");
    return std::nullopt;
  } catch (const Error& error) {
    return error;
  }
}

std::unique_ptr<Staging> make_staging(core::Queue& queue, std::shared_ptr<gpu::Gpus> gpus,
                                      const base::Settings& settings) {
  return std::make_unique<DeviceStaging>(queue, std::move(gpus), settings);
}

}  // namespace penstock::enqueued
