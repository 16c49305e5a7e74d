// SPDX-License-Identifier: Apache-2.0
// What the kernels of enqueued messages work on, carried by value in every launch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "enqueued/gpu/lane_work.hpp"
#include "gpu/staged_copy_shape.hpp"
#include "gpu/words.hpp"

namespace penstock::enqueued {

using gpu::Word64;

// A message's way between its buffer and pinned memory, or through a lane.
struct CopyWork : gpu::StagedCopyShape {
  CopyWork() noexcept : CopyWork(nullptr, nullptr, 0) {}
  CopyWork(std::byte* into, const std::byte* out_of, std::uint64_t size,
           const Word64* size_of_message = nullptr) noexcept
      : StagedCopyShape(size), to(into), from(out_of), bytes(size), received(size_of_message) {}

  // Each thread has a few cells.
  void go_by(const LaneUse& its_lane) noexcept {
    constexpr std::uint64_t bytes_a_block = 16 * 1024, most = 32;
    lane = its_lane;
    if (!lane.stands()) return;
    const std::uint64_t wanted = (bytes + bytes_a_block - 1) / bytes_a_block;
    blocks = static_cast<std::uint16_t>(std::clamp<std::uint64_t>(wanted, 1, most));
    const unsigned cells = std::max(cells_for(bytes), head_cells);
    threads = static_cast<std::uint16_t>(std::min((cells + 31) / 32 * 32, most_threads));
  }

  std::byte* to;
  const std::byte* from;
  std::uint64_t bytes;
  const Word64* received;  // null, or how many of them have come
  LaneUse lane;
};

// What the kernels of a queue's triggers tell those of its waits, in bundles, on the device.
struct SentWords {
  Word64 left;      // the last one of which a send that a lane was meant for is the engine's
  Word64 settled;   // the last one of these that a wait has found complete
  Word64 too_long;  // not 0: a receive has been told of that its message does not fit
};

// A trigger or a wait of the stream, as its kernels carry it out: the number that they wait for,
// and the word that they set to it when all copies are made.
struct BundleStep {
  Word64* wait_for = nullptr;  // they wait until this is `wait_number` at least; null: for nothing
  Word64 wait_number = 0;
  Word64* completed = nullptr;  // of a wait: until this is what `sent` says
  SentWords* sent = nullptr;
  Word64* too_long = nullptr;     // of a wait: QueueWords::too_long
  Word64* say_waiting = nullptr;  // where they say so, if that lasts
  Word64* besides = nullptr;      // and until this is `besides_number`; null: for nothing
  Word64 besides_number = 0;
  Word64* then_set = nullptr;  // becomes `number`; null: nothing does
  // What has been taken before this kernel, where no kernel has said so; `before` 0: nothing.
  Word64* taken = nullptr;
  Word64 before = 0;
  Word64* on_failure = nullptr;  // the same, where the queue has failed
  Word64 number = 0;
  Word64* arrivals = nullptr;  // of a kernel's blocks, on the device
  std::uint32_t id = 0;        // of the plan, in reports
};

}  // namespace penstock::enqueued
