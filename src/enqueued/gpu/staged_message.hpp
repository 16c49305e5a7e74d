// SPDX-License-Identifier: Apache-2.0
// A message in memory of a GPU, and the piece of pinned memory that MPI sends or fills.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/free_list.hpp"
#include "gpu/pack_work.hpp"

namespace penstock::enqueued {

// Who copies what a receive has brought to the program's buffer.
enum class Taker : std::uint8_t { nobody_yet, stream, program };

struct StagedMessage : base::FreeItem<StagedMessage> {
  std::byte* buffer = nullptr;  // the program's
  std::byte* piece = nullptr;
  std::uint64_t bytes = 0;
  std::optional<gpu::PackWork> packed;  // it lies with gaps
  std::uint64_t bundle = 0;             // by which it was triggered
  std::atomic<Taker> taker{Taker::nobody_yet};
  // The message until it ends; and the list of what waits of the stream are to take.
  std::atomic<int> owners{0};
};

}  // namespace penstock::enqueued
