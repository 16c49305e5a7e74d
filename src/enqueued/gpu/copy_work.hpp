// SPDX-License-Identifier: Apache-2.0
// What the kernels of enqueued messages work on, carried by value in every launch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/staged_copy_shape.hpp"
#include "gpu/words.hpp"

namespace penstock::enqueued {

using gpu::Word64;

// A message's way between its buffer and pinned memory.
struct CopyWork : gpu::StagedCopyShape {
  CopyWork() noexcept : CopyWork(nullptr, nullptr, 0) {}
  CopyWork(std::byte* into, const std::byte* out_of, std::uint64_t size,
           const Word64* size_of_message = nullptr) noexcept
      : StagedCopyShape(size), to(into), from(out_of), bytes(size), received(size_of_message) {}

  std::byte* to;
  const std::byte* from;
  std::uint64_t bytes;
  const Word64* received;  // null, or how many of them have come
};

// A trigger or a wait of the stream, as its kernels carry it out: the number that they wait for,
// and the word that they set to it when all copies are made.
struct BundleStep {
  Word64* wait_for = nullptr;     // they wait until this is `number` at least; null: for nothing
  Word64* say_waiting = nullptr;  // where they say so, if that lasts
  Word64* besides = nullptr;      // and until this is `besides_number`; null: for nothing
  Word64 besides_number = 0;
  Word64* then_set = nullptr;    // becomes `number`; null: nothing does
  Word64* on_failure = nullptr;  // the same, where the queue has failed
  Word64 number = 0;
  Word64* arrivals = nullptr;  // of a kernel's blocks, on the device
  std::uint32_t id = 0;        // of the plan, in reports
};

}  // namespace penstock::enqueued
