// SPDX-License-Identifier: Apache-2.0
// A message in memory of a GPU, and the piece of pinned memory that MPI sends or fills.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/free_list.hpp"
#include "enqueued/gpu/lane_work.hpp"
#include "enqueued/staging_ring.hpp"
#include "enqueued/words.hpp"
#include "gpu/pack_work.hpp"

namespace penstock::enqueued {

// Who copies what a receive has brought to the program's buffer: a wait of the stream, or a thread
// of the program that completes the request.
enum class Taker : std::uint8_t { nobody_yet, stream, program };

// The list of a datatype's segments, on a device, and which bundles' kernels read it last.
struct SegmentList;

struct StagedMessage : base::FreeItem<StagedMessage> {
  bool sends = false;
  std::byte* buffer = nullptr;  // the program's
  std::byte* piece = nullptr;
  std::uint64_t bytes = 0;
  // Of a receive, in pinned memory: how many bytes have come. Its buffer keeps what lies behind.
  std::uint64_t* received = nullptr;
  std::optional<gpu::PackWork> packed;  // it lies with gaps
  std::shared_ptr<SegmentList> list;    // null: its segments need none
  std::uint64_t bundle = 0;             // by which it was triggered
  StagingRing::Position end = 0;        // of its piece, which no other message's is
  // In pinned memory; becomes `end` where a message that a kernel could move is the engine's
  // (LaneUse::mark).
  std::uint64_t* mark = nullptr;
  LaneUse lane;                           // how kernels move it, from its trigger on
  std::shared_ptr<std::uint64_t> report;  // pinned, its own for good: see LaneUse; null: not needed
  std::atomic<Taker> taker{Taker::nobody_yet};
  // The message until it ends; and the list of what a wait of the stream gives back.
  std::atomic<int> owners{0};

  // Of a send that kernels were to move: its kernel has found no slot, and it is the engine's.
  bool is_marked() const noexcept {
    return std::atomic_ref(*mark).load(std::memory_order_acquire) == end;
  }
  void set_mark() const noexcept { std::atomic_ref(*mark).store(end, std::memory_order_release); }
  // MPI has received so many bytes of it. Before that is told to the stream.
  void set_received(std::size_t count) const noexcept {
    *received = count;
    set_mark();
  }
  // No wait of the stream is enqueued for it, and no thread of the program has it.
  bool is_for_anybody() const noexcept {
    return taker.load(std::memory_order_acquire) == Taker::nobody_yet;
  }
  // The stream has copied what came to the program's buffer.
  bool stream_has_copied(const QueueWords& words) const noexcept {
    return is_for_stream() && load(words.taken) >= bundle;
  }
  // After a failure: whether the stream may copy it still, or be at it.
  bool stream_may_copy(const QueueWords& words) const noexcept {
    return is_for_stream() && load(words.gave_up) < bundle;
  }
  bool is_for_stream() const noexcept {
    return taker.load(std::memory_order_acquire) == Taker::stream;
  }
  // True once: for who asks first.
  bool becomes(Taker who) noexcept {
    Taker nobody = Taker::nobody_yet;
    return taker.compare_exchange_strong(nobody, who, std::memory_order_acq_rel);
  }
};

}  // namespace penstock::enqueued
