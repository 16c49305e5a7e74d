// SPDX-License-Identifier: Apache-2.0
// How the blocks of a trigger put messages into lanes, and those of a wait take them out
// (protocol/flagged_lane.hpp).
#pragma once

#include "enqueued/gpu/copy_work.hpp"
#include "gpu/staged_copy.cuh"

namespace penstock::enqueued {

using gpu::BlockIndex, gpu::Failure, gpu::Reports, gpu::SystemWord;

__device__ inline Word64 flag_of(const LaneUse& lane, int which) {
  return protocol::lane::flag_of(lane.number, lane.slots[which], lane_flag_bits);
}

// This block's cells of a message of `bytes`, behind the head.
struct CellRange {
  unsigned begin = 0;
  unsigned end = 0;
};
__device__ inline CellRange share_of(std::uint64_t bytes, const BlockIndex& place) {
  const unsigned all = cells_for(bytes);
  const unsigned share =
      ((all + place.blocks - 1) / place.blocks + head_cells - 1) / head_cells * head_cells;
  return {min(all, place.index * share), min(all, (place.index + 1) * share)};
}

// Several accesses of each thread are under way at once.
inline constexpr unsigned cells_at_once = 4;

// ---- Sends

// One thread's. TAKEN lies in the receiver's memory. All slots' are fetched at once, so that only
// one message in so many as there are slots pays for the way. Another block that finds what this
// one has fetched acquires what was taken, too.
__device__ inline Way find_way(const LaneUse& lane) {
  const unsigned slot = lane.slot();
  SenderWords* const words = lane.sender;
  const Word64 sent = words[slot].sent, refreshed = words[slot].refreshed;
  Word64 known = gpu::DeviceWord(words[slot].known).load(::cuda::memory_order_acquire);
  if (known != sent) {
    Word64* const taken = lane.place[0].taken - slot;
    for (unsigned i = 0; i < lane.slots[0]; ++i) {
      const Word64 seen = SystemWord(taken[i]).load(::cuda::memory_order_acquire);
      gpu::DeviceWord(words[i].known).store(seen, ::cuda::memory_order_release);
      if (i == slot) known = seen;
    }
  }
  if (!protocol::lane::may_send(lane.number, sent, known, lane.slots[0], lane_flag_bits))
    return Way::by_engine;
  return protocol::lane::is_fresh(lane.number, refreshed, lane.slots[0], lane_flag_bits)
             ? Way::by_lane
             : Way::refreshing;
}

// One thread's. Of several blocks the first one that comes here decides for all.
__device__ inline Way choose(const LaneUse& lane, const BlockIndex& place) {
  const Word64 number = ways * lane.number;
  gpu::DeviceWord choice(lane.sender[lane.slot()].choice);
  Word64 before = place.blocks == 1 ? 0 : choice.load(::cuda::memory_order_relaxed);
  if (before / ways * ways == number) return static_cast<Way>(before % ways);
  const Way own = find_way(lane);
  const Word64 chosen = number + static_cast<Word64>(own);
  if (place.blocks == 1)
    choice.store(chosen, ::cuda::memory_order_relaxed);
  else if (!choice.compare_exchange_strong(before, chosen, ::cuda::memory_order_acq_rel) &&
           before / ways * ways == number)
    return static_cast<Way>(before % ways);
  return own;
}

__device__ inline Word64 load_bytes(const std::byte* from, unsigned count) {
  Word64 value = 0;
  if (count == sizeof value && reinterpret_cast<std::uintptr_t>(from) % sizeof value == 0)
    return *reinterpret_cast<const Word64*>(from);
  for (unsigned i = 0; i < count; ++i)
    value |= static_cast<Word64>(static_cast<unsigned char>(from[i])) << 8 * i;
  return value;
}

__device__ inline void store_bytes(std::byte* to, Word64 value, unsigned count) {
  if (count == sizeof value && reinterpret_cast<std::uintptr_t>(to) % sizeof value == 0) {
    *reinterpret_cast<Word64*>(to) = value;
    return;
  }
  for (unsigned i = 0; i < count; ++i) to[i] = static_cast<std::byte>(value >> 8 * i);
}

// Word `index` of a message: its place, and how many bytes of it there are.
__device__ inline std::uint64_t position_of(unsigned index) {
  return index * std::uint64_t{gpu::cell_payload};
}
__device__ inline unsigned bytes_of_word(unsigned index, std::uint64_t bytes) {
  const std::uint64_t position = position_of(index);
  if (position >= bytes) return 0;
  return static_cast<unsigned>(min(bytes - position, std::uint64_t{gpu::cell_payload}));
}
__device__ inline Word64 word_of(const CopyWork& copy, unsigned index) {
  return load_bytes(copy.from + position_of(index), bytes_of_word(index, copy.bytes));
}

// The cells behind the head.
__device__ inline void send_cells(const CopyWork& copy, const BlockIndex& place) {
  const CellRange range = share_of(copy.bytes, place);
  const Word64 flag = flag_of(copy.lane, 0);
  Cell* const cells = copy.lane.place[0].behind_head();
  for (unsigned i = range.begin + threadIdx.x; i < range.end; i += cells_at_once * blockDim.x) {
    Word64 words[cells_at_once];
#pragma unroll
    for (unsigned k = 0; k < cells_at_once; ++k)
      words[k] = i + k * blockDim.x < range.end ? word_of(copy, i + k * blockDim.x) : 0;
#pragma unroll
    for (unsigned k = 0; k < cells_at_once; ++k)
      if (i + k * blockDim.x < range.end)
        gpu::store_cell(cells + i + k * blockDim.x, cell_of(words[k], flag));
  }
}

// A thread's cell of the head.
__device__ inline void send_head(const CopyWork& copy, Word64 word) {
  gpu::store_cell(copy.lane.place[0].head + threadIdx.x,
                  cell_of(threadIdx.x == 0 ? first_value(copy.bytes, copy.lane.number) : word,
                          flag_of(copy.lane, 0)));
}

__device__ inline void refresh_cells(const LaneUse& lane) {
  for (unsigned i = threadIdx.x; i < lane.cells; i += blockDim.x)
    gpu::store_cell(lane.place[0].behind_head() + i, cell_of(0, flag_of(lane, 0)));
}

// All threads'. What finds no slot goes to pinned memory, for the engine. A small message is loaded
// while thread 0 looks for a slot.
__device__ inline void send_by_lane(const CopyWork& copy, const BlockIndex& place) {
  const bool small = copy.bytes <= small_bytes;
  const bool has_head = place.leads() && threadIdx.x < head_cells;
  const Word64 word = small && has_head && threadIdx.x > 0 ? word_of(copy, threadIdx.x - 1) : 0;
  const auto way = static_cast<Way>(
      gpu::agree(threadIdx.x == 0 ? static_cast<Word64>(choose(copy.lane, place)) : Word64{0}));
  if (way != Way::by_lane) {
    if (way == Way::refreshing && place.leads()) refresh_cells(copy.lane);
    return gpu::copy_share(copy.to, copy.from, copy.bytes, place);
  }
  if (has_head) send_head(copy, word);
  if (!small) send_cells(copy, place);
}

// The last block's, behind all blocks' shares.
__device__ inline Way way_of(const LaneUse& lane) {
  return static_cast<Way>(
      gpu::DeviceWord(lane.sender[lane.slot()].choice).load(::cuda::memory_order_relaxed) % ways);
}

// A thread for each message. What has not found a slot is the engine's.
__device__ inline void end_send(const LaneUse& lane) {
  SenderWords& words = lane.sender[lane.slot()];
  const Way way = way_of(lane);
  if (way == Way::by_lane)
    words.sent = lane.number;
  else
    SystemWord(*lane.mark).store(lane.serial, ::cuda::memory_order_relaxed);
  if (way == Way::refreshing) words.refreshed = lane.number;
}

// ---- Receives

// Where a message has come.
enum class Came : std::uint32_t { first_lane, second_lane, pinned, not_at_all };

// All threads', each of which has a cell of the head; true for all, when all cells are there.
__device__ inline bool look_into(const LaneUse& lane, int which, Cell& cell) {
  bool there = true;
  if (threadIdx.x < head_cells) {
    cell = gpu::load_cell(lane.place[which].head + threadIdx.x);
    there = shows(cell, flag_of(lane, which)) && (threadIdx.x > 0 || is_of(cell, lane.number));
  }
  return __syncthreads_and(there) != 0;
}

// One thread's: why a wait that lasts is to end, which it asks the host, across the bus.
__device__ inline Failure ask_host(const Reports& reports, const BundleStep& step) {
  if (SystemWord(reports.report.abort).load(::cuda::memory_order_relaxed) != 0)
    return Failure::released;
  if (SystemWord(*step.completed).load(::cuda::memory_order_relaxed) == protocol::no_more)
    return Failure::given_up;
  return Failure::none;
}

// All threads', each of which has a cell of the head. not_at_all: `failure` says why. The host is
// asked now and then whether the engine has received the message.
__device__ inline Came await_message(const Reports& reports, const BundleStep& step,
                                     const LaneUse& lane, Cell& cell, Failure& failure) {
  gpu::PollTimer timer(reports, step.id, *step.say_waiting, step.number);
  Came came = Came::not_at_all;
  for (unsigned looks = 1; came == Came::not_at_all && failure == Failure::none; ++looks) {
    for (int i = 0; i < LaneUse::most_lanes && came == Came::not_at_all; ++i)
      if (lane.place[i].head != nullptr && look_into(lane, i, cell)) came = static_cast<Came>(i);
    if (came != Came::not_at_all || looks % gpu::PollTimer::polls_between != 0) continue;
    Word64 news = static_cast<Word64>(Came::not_at_all);
    if (threadIdx.x == 0) {
      if (SystemWord(*lane.mark).load(::cuda::memory_order_acquire) == lane.serial)
        news = static_cast<Word64>(Came::pinned);
      else if (timer.late() == gpu::Request::end)
        news |= static_cast<Word64>(Failure::released) << 32;
      else
        news |= static_cast<Word64>(ask_host(reports, step)) << 32;
    }
    news = gpu::agree(news);
    came = static_cast<Came>(news & 0xffffffff);
    failure = static_cast<Failure>(news >> 32);
  }
  if (threadIdx.x == 0) timer.ended();
  return came;
}

// One thread's, of cells that follow a head which has come: they are on their way, unless their
// sender has ended meanwhile.
__device__ inline Failure await_cells(const Reports& reports, const BundleStep& step,
                                      const Cell* cells, unsigned stride, unsigned count,
                                      Word64 flag, Cell (&found)[cells_at_once]) {
  constexpr unsigned polls_between = 1024;
  constexpr Word64 patience = 1'000'000;  // nanoseconds
  Word64 since = 0;
  for (unsigned polls = 1;; ++polls) {
    bool there = true;
#pragma unroll
    for (unsigned k = 0; k < cells_at_once; ++k) {
      if (k >= count) continue;
      found[k] = gpu::load_cell(cells + k * stride);
      there = there && shows(found[k], flag);
    }
    if (there) return Failure::none;
    if (polls % polls_between != 0) continue;
    const Word64 now = gpu::nanoseconds();
    if (since == 0) since = now;
    if (now - since < patience) continue;
    since = now;
    if (const Failure failure = ask_host(reports, step); failure != Failure::none) return failure;
  }
}

// All threads': the cells behind the head.
__device__ inline Failure take_cells(const Reports& reports, const BundleStep& step,
                                     const CopyWork& copy, int which, std::uint64_t bytes,
                                     const BlockIndex& place) {
  const CellRange range = share_of(bytes, place);
  const Cell* const cells = copy.lane.place[which].behind_head();
  const Word64 flag = flag_of(copy.lane, which);
  Failure failure = Failure::none;
  for (unsigned i = range.begin + threadIdx.x; i < range.end && failure == Failure::none;
       i += cells_at_once * blockDim.x) {
    Cell found[cells_at_once];
    const unsigned count = (range.end - i + blockDim.x - 1) / blockDim.x;
    failure = await_cells(reports, step, cells + i, blockDim.x, count, flag, found);
    if (failure != Failure::none) break;
#pragma unroll
    for (unsigned k = 0; k < cells_at_once; ++k)
      if (k < count) {
        const unsigned index = i + k * blockDim.x;
        store_bytes(copy.to + position_of(index), value_of(found[k]), bytes_of_word(index, bytes));
      }
  }
  // One of them tells.
  const bool released = __syncthreads_or(failure == Failure::released) != 0;
  const bool given_up = __syncthreads_or(failure == Failure::given_up) != 0;
  return given_up ? Failure::given_up : released ? Failure::released : Failure::none;
}

// All threads'. `cell`: this thread's, of the head.
__device__ inline Failure take_out(const Reports& reports, const BundleStep& step,
                                   const CopyWork& copy, int which, std::uint64_t bytes,
                                   const Cell& cell, const BlockIndex& place) {
  if (bytes > small_bytes) return take_cells(reports, step, copy, which, bytes, place);
  if (place.leads() && threadIdx.x > 0 && threadIdx.x < head_cells) {
    const unsigned index = threadIdx.x - 1;
    store_bytes(copy.to + position_of(index), value_of(cell), bytes_of_word(index, bytes));
  }
  return Failure::none;
}

// The last block's, a thread for each message, behind all blocks' shares: the slot is free. Of a
// wait that fails only a message that is too long is taken, as its receive has met it.
__device__ inline void end_receive(const CopyWork& copy, bool failed) {
  const LaneUse& lane = copy.lane;
  for (int i = 0; i < LaneUse::most_lanes; ++i) {
    const LanePlace& place = lane.place[i];
    if (place.head == nullptr) continue;
    const Cell first = gpu::load_cell(place.head);
    if (!shows(first, flag_of(lane, i)) || !is_of(first, lane.number)) continue;
    if (!failed || bytes_of(first) > copy.bytes)
      SystemWord(*place.taken).store(lane.number, ::cuda::memory_order_relaxed);
  }
}

}  // namespace penstock::enqueued
