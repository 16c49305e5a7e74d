// SPDX-License-Identifier: Apache-2.0
// The bare pair of kernels: one sends a message into the peer's memory, the other waits for one. By
// lines, where each 8 bytes travel in a 16-byte cell beside their flag, or by a push of the message
// itself and a flag for each block.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <gpu_runtime.hpp>
#include <string_view>

namespace penstock::bench::floor {

using Word64 = std::uint64_t;

struct alignas(16) Cell {
  Word64 low, high;  // half of the data each, beside a 32-bit flag
};
inline constexpr std::size_t cell_payload = 8;
inline constexpr unsigned slots = 4;
inline constexpr unsigned most_blocks = 64;
inline constexpr unsigned most_threads = 512;
// So many cells a thread has under way at once, where it has several.
inline constexpr unsigned wide_group = 4;

struct alignas(32) Half {
  Word64 done, posted;
};

// In each rank's device memory.
struct Words {
  alignas(128) Word64 flag[most_blocks];  // stored by the peer's pushes
  alignas(128) Word64 fin[most_blocks];   // stored by the peer's waits
  alignas(128) Word64 cts;
  alignas(128) Word64 failed;
  alignas(128) Half send[most_blocks];
  alignas(128) Half receive[most_blocks];
};

// What the library's kernels do beyond the least, one thing after the other: each step has all that
// stand before it.
enum class Step {
  least,
  descriptor,
  sticky,
  words,
  fin_store,
  fin_check,
  patience,
  release,
  vote,
  choices
};
inline constexpr std::array<std::string_view, 10> step_names{
    "least",
    "+ descriptor of 104 bytes",
    "+ sticky word read first",
    "+ epoch and private words in memory, barrier",
    "+ FIN stored by the wait",
    "+ FIN checked by the send",
    "+ patience while polling",
    "+ successor let in after waiting",
    "+ vote before the words are stored",
    "+ mode and width chosen at run time"};

// When a kernel lets the blocks of its successor onto the device (dependent launch).
enum class Handover { at_once, early, late, never };
inline constexpr std::array<std::string_view, 4> handover_names{"at-once", "early", "late",
                                                                "never"};

// trip: lines, by one kernel for a message and its answer; inside: by one kernel for all trips.
enum class Way { lines, push, trip, inside };
inline constexpr std::array<std::string_view, 4> way_names{"lines", "push", "trip", "inside"};

enum class Role { send, wait };

// By value in every launch.
struct Least {
  Cell* ring = nullptr;         // lines: the receiver's first slot
  std::byte* buffer = nullptr;  // send: from here; wait: to here
  std::uint32_t cells = 0;
  std::uint32_t share = 0;  // of each block, in cells
  Word64 epoch = 0;
};

// As large as what the library's kernels get for one message.
struct Descriptor : Least {
  Words* own = nullptr;
  Words* peer = nullptr;
  Word64* abort = nullptr;  // in host memory
  std::uint32_t mode = 0;   // 0: standard, 1: synchronous, 2: ready
  std::uint32_t padding[11]{};
};
static_assert(sizeof(Descriptor) == 104);

// A message and one that is awaited, by the same blocks; so often, with the next epochs.
struct Trip {
  Least out;
  Least in;
  std::uint32_t trips = 1;
  bool leads = true;  // sends first
};

struct Push {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  Word64 bytes = 0;
  Word64 share = 0;
  Word64* flags = nullptr;
  Word64 epoch = 0;
};

// The kernel as the host's symbol for it, for launches.
const void* lines_kernel(Role role, Step step, Handover handover, bool wide);
const void* trip_kernel(bool wide);
const void* push_kernel(Role role, Handover handover);

}  // namespace penstock::bench::floor
