// SPDX-License-Identifier: Apache-2.0
// How the blocks of one kernel copy one message: one block decides, and each copies its own parts and says so to the
// peer. No block waits for one that may have found no place on the device, except for the first.
#pragma once

#include "transport/cuda/block.cuh"
#include "transport/cuda/copy.cuh"
#include "transport/peer/cuda/batch.hpp"

namespace penstock::transport::peer::cuda {

using transport::cuda::Place;

enum class Task : std::uint8_t { none, push, pull };
enum class Phase : std::uint8_t { start, wait };

class Team {
 public:
  __device__ Team(const Pair& pair, const Place& place, Phase phase, Word64 epoch)
      : pair_(pair), place_(place), epoch_(epoch), kernel_(2 * epoch + static_cast<Word64>(phase)) {}

  // The leader: the message is to be copied.
  __device__ void lead(Task task) {
    command(task);
    copy_parts(task);
  }

  // The leader: nothing was to be copied in this kernel, the others may go.
  __device__ void dismiss() {
    if (!commanded_) command(Task::none);
  }

  // The others. `said` (may be null): words of the parts that the peer writes; once it has said ours, they are its
  // work. True: this block has copied.
  __device__ bool help(Word64* said) {
    Word64 word = 0;
    if (threadIdx.x < warp) {
      do {
        if (threadIdx.x == 0) word = DeviceWord(pair_.half->command).load(::cuda::memory_order_acquire);
        word = __shfl_sync(~0u, word, 0);
        if (word >> task_bits == kernel_) break;
        word = 0;
      } while (said == nullptr || !all_said(said));
    }
    const auto task = static_cast<Task>(agree(word) & ((1u << task_bits) - 1));
    if (task == Task::none) return false;
    copy_parts(task);
    return true;
  }

  // A fence, sequentially consistent, lies behind what this block has copied.
  __device__ bool fenced() const { return fenced_; }

 private:
  static constexpr unsigned task_bits = 2;
  static constexpr unsigned warp = 32;

  // Release: what this block has acquired from the peer comes before the others' copies.
  __device__ void command(Task task) {
    commanded_ = true;
    if (place_.blocks > 1 && threadIdx.x == 0)
      DeviceWord(pair_.half->command)
          .store(kernel_ << task_bits | static_cast<Word64>(task), ::cuda::memory_order_release);
  }

  // By a warp, which looks at all of the block's parts at once. Acquire: what the peer has stored into our buffer, or
  // loaded from it, comes before.
  __device__ bool all_said(Word64* said) const {
    bool all = true;
    for (unsigned part = place_.index + threadIdx.x * place_.blocks; part < pair_.parts; part += warp * place_.blocks)
      all = all && SystemWord(said[part]).load(::cuda::memory_order_acquire) >= epoch_;
    return __all_sync(~0u, all) != 0;
  }

  __device__ void copy_parts(Task task) {
    fenced_ = true;
    for (unsigned part = place_.index; part < pair_.parts; part += place_.blocks) copy_part(task, part);
    __syncthreads();
    if (threadIdx.x != 0) return;
    // The payload before DONE, or our loads from the send buffer before FIN, which lets the sender overwrite it; and
    // both before the look at CLOSED that follows (closing::copy_holds), so that one fence does for all.
    ::cuda::atomic_thread_fence(::cuda::memory_order_seq_cst, ::cuda::thread_scope_system);
    Word64* const words = task == Task::push ? pair_.receiver->done : pair_.sender->fin;
    for (unsigned part = place_.index; part < pair_.parts; part += place_.blocks)
      SystemWord(words[part]).store(epoch_, ::cuda::memory_order_relaxed);
  }

  __device__ void copy_part(Task task, unsigned part) const {
    const Word64 begin = part * pair_.share;
    if (begin >= pair_.bytes) return;
    const Word64 bytes = min(pair_.bytes - begin, pair_.share);
    std::byte* const to = (task == Task::push ? pair_.other : pair_.buffer) + begin;
    const std::byte* const from = (task == Task::push ? pair_.buffer : pair_.other) + begin;
    copy_bytes(to, from, bytes);
  }

  const Pair& pair_;
  Place place_;
  Word64 epoch_;
  Word64 kernel_;
  bool commanded_ = false;
  bool fenced_ = false;
};

}  // namespace penstock::transport::peer::cuda
