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
struct CopyWork {
  CopyWork() noexcept : CopyWork(nullptr, nullptr, 0) {}
  CopyWork(std::byte* into, const std::byte* out_of, std::uint64_t size) noexcept
      : to(into), from(out_of), bytes(size) {
    const gpu::StagedCopyShape shape(size);
    blocks = shape.blocks;
    threads = shape.threads;
  }

  std::byte* to;
  const std::byte* from;
  std::uint64_t bytes;
  std::uint16_t blocks;
  std::uint16_t threads;  // of a block, at least
};

// Around the copies of a kernel: what it waits for, and whom it tells when all are made.
struct Bell {
  Word64* completed = nullptr;  // it waits until this is `number` at least; null: for nothing
  Word64* awaited = nullptr;    // where it says so, if that lasts
  Word64* tells = nullptr;      // becomes `number`; null: nobody is told
  Word64 number = 0;
  Word64* arrivals = nullptr;  // of its blocks, on the device
  std::uint32_t id = 0;        // of the plan, in reports
};

}  // namespace penstock::enqueued
