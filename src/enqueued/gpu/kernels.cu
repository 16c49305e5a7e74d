// SPDX-License-Identifier: Apache-2.0
#include "enqueued/gpu/kernels.hpp"

#include "enqueued/gpu/lane.cuh"
#include "gpu/kernel_batch.cuh"

namespace penstock::enqueued {

using gpu::KernelBatch;

namespace {

template <int capacity>
struct CopyKernelBatch : KernelBatch<CopyWork, capacity> {
  CopyKernelBatch(const Launch& launch, const BundleStep& its_step,
                  std::span<const CopyWork> copies) noexcept
      : KernelBatch<CopyWork, capacity>(launch, copies), step(its_step) {}
  BundleStep step;
};

// A message may be shorter than its receive. Where each thread copies one unit at most, it asks for
// that before thread 0's answer is here, how much has come: either takes a way across the bus. One
// thread asks alone, since the reads of one word stand in a row there.
__device__ void copy_received(const CopyWork& copy, const BlockIndex& place) {
  const auto addresses =
      reinterpret_cast<std::uintptr_t>(copy.to) | reinterpret_cast<std::uintptr_t>(copy.from);
  const bool in_units = place.blocks == 1 && addresses % sizeof(uint4) == 0 &&
                        copy.bytes <= blockDim.x * sizeof(uint4);
  const std::uint64_t begin = threadIdx.x * sizeof(uint4);
  uint4 unit{};
  if (in_units && begin < copy.bytes) unit = *reinterpret_cast<const uint4*>(copy.from + begin);
  SystemWord received(const_cast<Word64&>(*copy.received));
  const std::uint64_t end = min(
      gpu::agree(threadIdx.x == 0 ? received.load(::cuda::memory_order_relaxed) : 0), copy.bytes);
  if (!in_units) return gpu::copy_share(copy.to, copy.from, end, place);
  if (begin + sizeof(uint4) <= end) {
    *reinterpret_cast<uint4*>(copy.to + begin) = unit;
  } else {
    const auto* const bytes = reinterpret_cast<const std::byte*>(&unit);
    for (std::uint64_t i = begin; i < end; ++i) copy.to[i] = bytes[i - begin];
  }
}

__device__ void copy_one(const CopyWork& copy, const BlockIndex& place) {
  if (copy.received != nullptr)
    copy_received(copy, place);
  else
    gpu::copy_share(copy.to, copy.from, copy.bytes, place);
}

// One thread's. Of several such messages the first one is told of.
__device__ void tell_too_long(const BundleStep& step, const CopyWork& copy, std::uint64_t bytes) {
  if (gpu::DeviceWord(step.sent->too_long).exchange(1, ::cuda::memory_order_relaxed) != 0) return;
  SystemWord(step.too_long[1]).store(bytes, ::cuda::memory_order_relaxed);
  SystemWord(step.too_long[0]).store(copy.lane.serial, ::cuda::memory_order_release);
}

// All threads'. A message with gaps stays in pinned memory, from where it is unpacked.
__device__ Failure receive_by_lane(const Reports& reports, const BundleStep& step,
                                   const CopyWork& copy, const BlockIndex& place) {
  Cell cell{};
  Failure failure = Failure::none;
  const Came came = await_message(reports, step, copy.lane, cell, failure);
  if (failure != Failure::none) return failure;
  if (came == Came::pinned) {
    if (copy.to != copy.from) copy_received(copy, place);
    return Failure::none;
  }
  const std::uint64_t bytes = gpu::agree(bytes_of(cell));  // thread 0 has the first one
  const bool tells = place.leads() && threadIdx.x == 0;
  if (bytes > copy.bytes) {
    if (!place.leads()) return Failure::none;  // nothing is copied, and the first block tells why
    if (tells) tell_too_long(step, copy, bytes);
    return Failure::given_up;
  }
  if (tells && copy.lane.report != nullptr)
    SystemWord(*copy.lane.report).store(bytes, ::cuda::memory_order_relaxed);
  return take_out(reports, step, copy, static_cast<int>(came), bytes, cell, place);
}

// `last`: this block waits for nothing behind it.
__device__ Failure move_one(const Reports& reports, const BundleStep& step, const CopyWork& copy,
                            const BlockIndex& place, bool last) {
  if (copy.lane.receives()) return receive_by_lane(reports, step, copy, place);
  if (last) gpu::let_successor_in();
  if (copy.lane.sends())
    send_by_lane(copy, place);
  else
    copy_one(copy, place);
  return Failure::none;
}

// On a crowded device there is one block, which moves all messages.
template <int capacity>
__device__ Failure move_all(const CopyKernelBatch<capacity>& batch) {
  const Reports reports = batch.reports();
  Failure failure = Failure::none;
  if (gridDim.x == 1) {
    for (int i = 0; i < batch.count && failure == Failure::none; ++i)
      failure =
          move_one(reports, batch.step, batch.item[i], BlockIndex{0, 1}, i + 1 == batch.count);
  } else {
    BlockIndex place;
    const CopyWork& copy = gpu::item_of_block(batch, place);
    failure = move_one(reports, batch.step, copy, place, true);
  }
  return failure;
}

// All threads': how what the kernel waits for has ended, but for what comes by lanes. `left`: a
// trigger's kernel has left a send to the engine.
__device__ Failure await(const Reports& reports, const BundleStep& step, bool left) {
  Failure failure = Failure::none;
  if (step.wait_for != nullptr)
    failure =
        gpu::await_host(reports, step.id, *step.say_waiting, *step.wait_for, step.wait_number);
  if (failure == Failure::none && step.besides != nullptr)
    failure =
        gpu::await_host(reports, step.id, *step.say_waiting, *step.besides, step.besides_number);
  if (failure == Failure::none && left)
    failure =
        gpu::await_host(reports, step.id, *step.say_waiting, *step.completed, step.sent->left);
  return failure;
}

// The last block's threads, a message each, when all blocks have done their shares. Release: what
// all of them stored, and what the stream did before, comes before the words, and before TAKEN.
// Marks and SENT need only come before the last word.
template <int capacity>
__device__ void end_all(const CopyKernelBatch<capacity>& batch, bool failed, bool left_before) {
  static_assert(capacity <= 32, "each message has a thread in every block");
  const BundleStep& step = batch.step;
  const auto own = static_cast<int>(threadIdx.x);
  bool releases = own == 0 && (failed || step.completed != nullptr || batch.count == 0);
  bool left = false;
  if (own < batch.count) {
    const LaneUse& lane = batch.item[own].lane;
    left = lane.sends() && !failed && way_of(lane) != Way::by_lane;
    releases |= !lane.sends() || left;
  }
  releases = __syncthreads_or(releases) != 0;
  left = __syncthreads_or(left) != 0;
  if (releases && own < 32)
    ::cuda::atomic_thread_fence(::cuda::memory_order_acq_rel, ::cuda::thread_scope_system);
  if (own < batch.count) {
    const CopyWork& copy = batch.item[own];
    if (copy.lane.receives())
      end_receive(copy, failed);
    else if (copy.lane.sends() && !failed)
      end_send(copy.lane);
  }
  __syncthreads();  // before the word come what the others have stored: marks, and SENT of slots
  if (own != 0) return;
  if (left) step.sent->left = step.number;
  if (!failed && left_before) step.sent->settled = step.sent->left;
  Word64* const told = failed ? step.on_failure : step.then_set;
  if (told == nullptr) return;
  SystemWord(*told).store(step.number, ::cuda::memory_order_release);
}

// Whom this block's share is for. The host reads what is in its memory. A lane's cells need no
// order, and that they have been read is told behind a fence of the last block's (end_all).
template <int capacity>
__device__ ::cuda::thread_scope scope_of(const CopyKernelBatch<capacity>& batch) {
  BlockIndex place;
  if (gridDim.x == 1) return ::cuda::thread_scope_system;
  const LaneUse& lane = gpu::item_of_block(batch, place).lane;
  const bool by_lane = lane.receives() || (lane.sends() && way_of(lane) == Way::by_lane);
  return by_lane ? ::cuda::thread_scope_device : ::cuda::thread_scope_system;
}

// All blocks of a kernel come to its end, whatever fails, so that the last one knows that none
// copies any more.
struct Copies {
  static constexpr unsigned most_threads = gpu::StagedCopyShape::most_threads, resident = 0;
  template <int capacity>
  static __device__ void run(const CopyKernelBatch<capacity>& batch) {
    const BundleStep& step = batch.step;
    const Reports reports = batch.reports();
    constexpr Word64 has_failed = 1, has_left = 2;
    Word64 found = 0;
    if (threadIdx.x == 0) {
      const Word64 failed = batch.queue_failure->failed;
      const Word64 left = step.sent->left, settled = step.sent->settled;
      found = (failed != 0 ? has_failed : 0) |
              (step.completed != nullptr && left > settled ? has_left : 0);
      if (blockIdx.x == 0 && failed == 0 && step.before != 0)
        SystemWord(*step.taken).store(step.before, ::cuda::memory_order_relaxed);
    }
    found = gpu::agree(found);
    const bool before = (found & has_failed) != 0, left = (found & has_left) != 0;
    Failure failure = before ? Failure::none : await(reports, step, left);
    if (!before && failure == Failure::none) failure = move_all(batch);
    gpu::let_successor_in();
    const bool failed = before || failure != Failure::none;
    const gpu::Arrival arrival = gpu::arrive(step.arrivals, gridDim.x, failed, scope_of(batch));
    if (failure != Failure::none && threadIdx.x == 0) gpu::report_first(reports, step.id, failure);
    const Word64 last = gpu::agree(arrival.last ? 1 + (arrival.failed ? 1 : 0) : 0);
    if (last != 0) end_all(batch, last == 2, left);
  }
};

template <int capacity>
cudaError_t launch_as(const Launch& launch, const BundleStep& step,
                      std::span<const CopyWork> copies) {
  CopyKernelBatch<capacity> batch(launch, step, copies);
  gpu::StagedGrid grid = gpu::grid_of(copies);
  if (launch.crowded && step.completed != nullptr) grid.blocks = 1;
  return gpu::launch_batch<Copies>(launch, grid.blocks, grid.threads, batch);
}

}  // namespace

cudaError_t launch_copies(const Launch& launch, const BundleStep& step,
                          std::span<const CopyWork> copies) {
  if (copies.size() <= 1) return launch_as<1>(launch, step, copies);
  return launch_as<largest_copy_batch>(launch, step, copies);
}

cudaError_t load_copies(const Launch& launch) {
  for (const auto call : {&launch_as<1>, &launch_as<largest_copy_batch>})
    if (const cudaError_t code = call(launch, {}, {}); code != cudaSuccess) return code;
  return cudaStreamSynchronize(launch.stream);
}

}  // namespace penstock::enqueued
