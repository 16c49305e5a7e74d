// SPDX-License-Identifier: Apache-2.0
#include "enqueued/gpu/device_staging.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "device/gpu.hpp"
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

std::size_t marks_bytes(std::size_t size) noexcept {
  return (StagedPieces::marks_of(size) + 1) * sizeof(std::uint64_t);
}

std::uint64_t* zeroed(const std::shared_ptr<std::byte>& marks, std::size_t size) noexcept {
  std::memset(marks.get(), 0, marks_bytes(size));
  return reinterpret_cast<std::uint64_t*>(marks.get());
}

}  // namespace

DeviceStaging::DeviceStaging(core::Queue& queue, std::shared_ptr<gpu::Gpus> gpus,
                             const base::Settings& settings, LaneMemoryPlace& lane_memory)
    : stream_(stream_of(queue)),
      gpus_(std::move(gpus)),
      lane_memory_(lane_memory),
      gpu_aware_mpi_(settings.gpu_aware_mpi),
      most_in_slots_(settings.cuda_eager_max),
      words_(std::static_pointer_cast<QueueWords>(gpus_->pinned().take())),
      memory_(gpus_->pinned().take(std::max<std::size_t>(settings.queue_staging, 1))),
      marks_(gpus_->pinned().take(marks_bytes(settings.queue_staging))),
      arena_(gpus_->devices().arena(stream_.device())),
      sent_words_(arena_->allocate(sizeof(SentWords))),
      no_failure_(arena_->allocate(sizeof(gpu::QueueFailure))),
      pieces_(memory_.get(), settings.queue_staging, zeroed(marks_, settings.queue_staging),
              *words_),
      lists_(arena_, *words_) {
  gpus_->equip<CopyBatch>(stream_, gpu::LaunchStep::enqueued, load_copies);
  gpus_->equip<CopyBatch>(stream_, gpu::LaunchStep::tell_unpacked, load_copies);
  gpus_->equip_packing(stream_);
}

std::unique_ptr<transport::Plan> DeviceStaging::make_plan(QueueMessages& messages,
                                                          MessageEngine& engine) {
  return std::make_unique<KernelMessagePlan>(*this, messages, engine);
}

// ---- Pieces

// A promised message of no bytes goes by a lane, too, whatever its buffer is.
bool DeviceStaging::stage(EnqueuedMessage& message, MPI_Datatype type,
                          std::optional<std::size_t> element) {
  if (message.peer == MPI_PROC_NULL) return false;
  if (message.count == 0)
    return message.promised.envelope &&
           stage_bytes(message, static_cast<std::byte*>(message.buffer), 0);
  if (!element) return stage_derived(message, type);
  auto* const buffer = static_cast<std::byte*>(message.buffer);
  const std::size_t bytes = static_cast<std::size_t>(message.count) * *element;
  return bytes != 0 && is_on_device(message, buffer) && stage_bytes(message, buffer, bytes);
}

// What MPI has in the piece are its bytes without gaps; an int counts as many as a piece can be.
bool DeviceStaging::stage_bytes(EnqueuedMessage& message, std::byte* buffer, std::size_t bytes) {
  message.bytes = bytes;
  StagedMessage& staged = pieces_.take(bytes, message.sends());
  staged.buffer = buffer;
  message.staged = &staged;
  message.buffer = staged.piece;
  message.type = MPI_BYTE;
  message.count = static_cast<int>(bytes);
  return true;
}

bool DeviceStaging::stage_derived(EnqueuedMessage& message, MPI_Datatype type) {
  const group::MpiLayout layout(type, message.count);
  std::byte* const lowest = lowest_of(message, layout);
  if (layout.bytes() == 0 || !is_on_device(message, lowest)) return false;
  require_described(message, layout);
  if (layout.contiguous()) return stage_bytes(message, lowest, layout.bytes());
  const datatype::Segments& segments = *layout.segments();
  if (!known_allocations_.find(lowest).holds(lowest + segments.span().end - 1))
    throw Error(ErrorKind::unsupported,
                message.label() +
                    ": its datatype reaches beyond the allocation that its first byte "
                    "lies in");
  std::shared_ptr<SegmentList> list = lists_.find(layout.segments());
  stage_bytes(message, lowest, layout.bytes());
  StagedMessage& staged = *message.staged;
  staged.packed =
      gpu::pack_work(segments, list ? list->begin() : nullptr, lowest, staged.piece, staged.bytes);
  staged.packed->id = id_;
  staged.list = std::move(list);
  return true;
}

// False too where MPI takes it as it lies there.
bool DeviceStaging::is_on_device(const EnqueuedMessage& message, const std::byte* lowest) {
  const device::GpuAllocation allocation = known_allocations_.find(lowest);
  if (allocation.device < 0 && !allocation.on_all) return false;
  if (gpu_aware_mpi_) {
    if (!stream_.waits_for_legacy_stream()) return false;
    throw Error(ErrorKind::unsupported,
                message.label() + ": a GPU-aware MPI makes calls of " PENSTOCK_GPU
                                  " of its own, for which the queue's stream must be one that does "
                                  "not wait for the legacy default stream: make it with the flag "
                                  "NonBlocking, or unset PENSTOCK_GPU_AWARE_MPI");
  }
  if (!allocation.on_all && allocation.device != stream_.device())
    throw Error(ErrorKind::unsupported,
                fmt::format("{}: the buffer is on device {}, the queue's stream on device {}",
                            message.label(), allocation.device, stream_.device()));
  return true;
}

// ---- The engine's

// A question would end a capture of the stream.
bool DeviceStaging::has_run_dry() const noexcept {
  if (stream_.capture() != 0) return false;
  const device::gpu::DeviceGuard guard(stream_.device());
  const device::gpu::RelaxedCaptures relaxed;
  return device::gpu::succeeded(cudaStreamQuery(stream_.handle()));
}

// A kernel may tell more at the same time.
void DeviceStaging::note_what_has_run() noexcept {
  const std::uint64_t launched = launched_.load(std::memory_order_acquire);
  if (load(words_->taken) >= launched || !has_run_dry()) return;
  const std::atomic_ref taken(words_->taken);
  std::uint64_t told = taken.load(std::memory_order_acquire);
  while (told < launched && load(words_->gave_up) == 0 &&
         !taken.compare_exchange_weak(told, launched, std::memory_order_acq_rel)) {
  }
}

// Blocks until that is done, on a stream of the library's.
void DeviceStaging::unpack(const gpu::PackWork& packed) const {
  const device::gpu::DeviceGuard guard(stream_.device());
  const device::gpu::RelaxedCaptures relaxed;
  gpu::Launch launch;
  launch.stream = arena_->stream();
  launch.queue_failure = reinterpret_cast<gpu::QueueFailure*>(no_failure_.get());
  device::gpu::check(gpu::launch_unpacking(launch, {&packed, 1}), "unpacking");
  device::gpu::check(cudaStreamSynchronize(arena_->stream()), "cudaStreamSynchronize");
}

// Blocks until the copy is made.
std::optional<Error> DeviceStaging::copy_for_program(EnqueuedMessage& message) noexcept {
  const StagedMessage& staged = *message.staged;
  try {
    const bool by_lane = message.promised.in_line;
    if (by_lane) take_from_lane(message);
    if (staged.packed)
      unpack(*staged.packed);
    else if (!by_lane)
      arena_->write(staged.buffer, staged.piece, std::min(*staged.received, staged.bytes));
    return std::nullopt;
  } catch (const Error& error) {
    return error;
  } catch (const std::exception& error) {
    return Error(ErrorKind::resources, error.what());
  }
}

std::unique_ptr<Staging> make_staging(core::Queue& queue, std::shared_ptr<gpu::Gpus> gpus,
                                      const base::Settings& settings,
                                      LaneMemoryPlace& lane_memory) {
  return std::make_unique<DeviceStaging>(queue, std::move(gpus), settings, lane_memory);
}

}  // namespace penstock::enqueued
