// SPDX-License-Identifier: Apache-2.0
// How several processors of one end, the blocks of one kernel, copy one message: one of them leads
// and says what is to be copied, each copies its own parts and says so to the peer. The others wait
// for the leader, but for no block that may have found no place on the device. So a block may come
// when all that the others had to do is long over, and when the pair has failed meanwhile.
// What keeps such a block from harm:
//   - A command names its kernel, and no other kernel takes it.
//   - A block looks, when it begins, whether its own end has given the pair up, or the peer has
//     closed. Then it copies no more.
//   - A block whose leader has not come until its wait was to end cannot know whether there will be
//     one. It gives the half up and counts itself among those that have failed. It leaves the
//     telling to others: to the last block, if the leader comes yet and has the message copied;
//     else to whoever finds the half given up and no failure told.
//   - Neither peer nor host is told of a failure before every block of the kernel is through with
//     its copy: whoever is told may use the buffers again. The last block tells. Words
//     are not covered: a block that is through may still have stores to the peer's words on their
//     way. They are used again when both ends are gone (L18), which is said behind the kernel, in
//     the order of its stream.
#pragma once

#include "protocol/epoch.hpp"

namespace penstock::protocol::team {

enum class Task : std::uint8_t { none, push, pull };
enum class Phase : std::uint8_t { start, wait };

constexpr unsigned task_bits = 2;

// Each kernel has a number of its own: a start that follows a start is none of a program
// (Failure::started_twice).
PENSTOCK_HD constexpr std::uint64_t kernel_of(Epoch epoch, Phase phase) {
  return 2 * epoch + static_cast<std::uint64_t>(phase);
}
PENSTOCK_HD constexpr std::uint64_t command_of(std::uint64_t kernel, Task task) {
  return kernel << task_bits | static_cast<std::uint64_t>(task);
}
PENSTOCK_HD constexpr bool is_for(std::uint64_t command, std::uint64_t kernel) {
  return command >> task_bits == kernel;
}
PENSTOCK_HD constexpr Task task_of(std::uint64_t command) {
  return static_cast<Task>(command & ((1u << task_bits) - 1));
}

// THROUGH counts the blocks that are through with their copy, of all kernels: those of one kernel
// together add `everybody`, however many they are, so the word needs no beginning. It is changed by
// read-modify-write alone, which brings all blocks of a kernel into one order.
constexpr std::uint64_t everybody = std::uint64_t{1} << 16;
constexpr std::uint64_t somebody_failed = std::uint64_t{1} << 62;
// Stands beside somebody_failed: the queue of that block reports this very failure.
constexpr std::uint64_t queue_failed_first = std::uint64_t{1} << 63;

PENSTOCK_HD constexpr std::uint64_t share_of_block(unsigned index, unsigned blocks) {
  return index == 0 ? everybody - (blocks - 1) : 1;
}
PENSTOCK_HD constexpr bool all_are_through(std::uint64_t through) {
  return through % everybody == 0;
}

// In GIVEN_UP, beside the first epoch that is not served: neither the peer nor the host has been
// told.
constexpr std::uint64_t untold = std::uint64_t{1} << 63;

PENSTOCK_HD constexpr Epoch epoch_given_up(std::uint64_t given_up) {
  return given_up & ~untold;
}
PENSTOCK_HD constexpr bool is_to_be_told(std::uint64_t given_up) {
  return (given_up & untold) != 0;
}

// What a block has to tell of a failure, as the one that knows that all are through.
struct Telling {
  bool peer = false;
  bool host = false;
};

// T stands for the hands of one block:
//   index(), blocks(), parts()
//   load_command (acquire), store_command (release)
//   copy(task, part)
//   fence                  sequentially consistent, after the copies of the whole block
//   say(task, part, epoch) DONE or FIN of a part; relaxed, behind the fence
//   add_through(share)     returns the word afterwards; relaxed, behind the fence
//   mark_through(bits)     returns the word before; acq_rel
//   acquire_fence

// Release: what the leader has acquired from the peer comes before the others' copies.
template <class T>
PENSTOCK_HD void command(T& block, std::uint64_t kernel, Task task) {
  if (block.blocks() > 1) block.store_command(command_of(kernel, task));
}

// One fence does for all: the payload before DONE, or our loads from the send buffer before FIN,
// which lets the sender overwrite it; both before the look at CLOSED that follows
// (closing::copy_holds); and both before THROUGH.
template <class T>
PENSTOCK_HD void copy_parts(T& block, Task task, Epoch epoch) {
  for (unsigned part = block.index(); part < block.parts(); part += block.blocks())
    block.copy(task, part);
  block.fence();
  for (unsigned part = block.index(); part < block.parts(); part += block.blocks())
    block.say(task, part, epoch);
}

// Each block calls it once, right after its copy, or instead of it. The answer is not needed before
// the block ends, so that the look at CLOSED need not wait for it. A start tells of no failure of a
// copy: its wait does, in a kernel behind it.
template <class T>
PENSTOCK_HD std::uint64_t count_through(T& block) {
  return block.blocks() > 1 ? block.add_through(share_of_block(block.index(), block.blocks())) : 0;
}

// Is called at the end of a block whose copy holds; `through` is what count_through gave it.
template <class T>
PENSTOCK_HD Telling end_well(T& block, std::uint64_t through) {
  const bool tells = (through & somebody_failed) != 0 && all_are_through(through);
  if (tells) block.acquire_fence();  // the other blocks' copies come first
  return {tells, tells && (through & queue_failed_first) != 0};
}

// Is called at the end of a block whose copy does not hold, after count_through. `first`: it is the
// first of all failures of its queue. The block tells that made it so that all are through and one
// has failed: this block by its count, if others had failed by then, or by its mark, if all were
// through by then. A block that is the first failure of its queue, and marks that after all are
// through, tells the host itself, as no other block sees it.
template <class T>
PENSTOCK_HD Telling end_badly(T& block, std::uint64_t through, bool first) {
  if (block.blocks() == 1) return {true, first};
  const std::uint64_t before =
      block.mark_through(somebody_failed | (first ? queue_failed_first : 0));
  const bool by_count = all_are_through(through) && (through & somebody_failed) != 0;
  const bool by_mark = all_are_through(before) && (before & somebody_failed) == 0;
  const bool tells = by_count || by_mark;
  const bool tells_late = first && all_are_through(before);
  return {tells || tells_late, tells_late || (tells && (before & queue_failed_first) != 0)};
}

}  // namespace penstock::protocol::team
