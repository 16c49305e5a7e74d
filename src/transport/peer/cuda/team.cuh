// SPDX-License-Identifier: Apache-2.0
// How the blocks of one kernel copy one message: one block decides, the others help. Parts are taken, not dealt out, so
// that blocks which find no place on the device are not waited for.
#pragma once

#include "transport/peer/cuda/block.cuh"
#include "transport/peer/cuda/copy.cuh"

namespace penstock::transport::peer::cuda {

enum class Task : std::uint8_t { none, push, pull };
enum class Phase : std::uint8_t { start, wait };

class Team {
 public:
  __device__ Team(const Pair& pair, const Place& place, Phase phase, Word64 epoch)
      : pair_(pair), half_(*pair.half), place_(place), kernel_(2 * epoch + static_cast<Word64>(phase)) {}

  // The leader: copies the message together with the others, and returns when all of it has been copied.
  __device__ void carry_out(Task task) {
    if (place_.blocks == 1) {
      copy_part(task, 0, 1);
      return;
    }
    if (threadIdx.x == 0) {
      DeviceWord(half_.parts).store(kernel_ << part_bits, ::cuda::memory_order_relaxed);
      DeviceWord(half_.parts_done).store(kernel_ << part_bits, ::cuda::memory_order_relaxed);
      // Release: the counters, and what this block has acquired from the peer, come before a helper's copy.
      DeviceWord(half_.command).store(encode(task), ::cuda::memory_order_release);
    }
    commanded_ = true;
    take_parts(task);
    if (threadIdx.x == 0) {
      const Word64 all = kernel_ << part_bits | place_.blocks;
      while (SystemWord(half_.parts_done).load(::cuda::memory_order_acquire) != all) {
      }
    }
    __syncthreads();
  }

  // The leader: nothing was to be copied in this kernel, the others may go.
  __device__ void dismiss() {
    if (place_.blocks > 1 && !commanded_ && threadIdx.x == 0)
      DeviceWord(half_.command).store(encode(Task::none), ::cuda::memory_order_release);
  }

  // The others.
  __device__ void help() {
    Word64 command = 0;
    if (threadIdx.x == 0) {
      do command = DeviceWord(half_.command).load(::cuda::memory_order_acquire);
      while (command >> task_bits != kernel_);
    }
    const auto task = static_cast<Task>(agree(command) & ((1u << task_bits) - 1));
    if (task != Task::none) take_parts(task);
  }

 private:
  static constexpr unsigned task_bits = 2;
  static constexpr unsigned part_bits = 16;

  __device__ Word64 encode(Task task) const { return kernel_ << task_bits | static_cast<Word64>(task); }

  __device__ void take_parts(Task task) {
    for (;;) {
      Word64 part = 0;
      if (threadIdx.x == 0) part = DeviceWord(half_.parts).fetch_add(1, ::cuda::memory_order_relaxed);
      part = agree(part) & ((Word64{1} << part_bits) - 1);
      if (part >= place_.blocks) return;
      copy_part(task, static_cast<unsigned>(part), place_.blocks);
      __syncthreads();
      // Release at system scope: this block's stores to the peer, or loads from it, come before DONE or FIN, which
      // another block stores.
      if (threadIdx.x == 0) SystemWord(half_.parts_done).fetch_add(1, ::cuda::memory_order_release);
    }
  }

  __device__ void copy_part(Task task, unsigned part, unsigned parts) const {
    const Word64 step = ((pair_.bytes + parts - 1) / parts + device_line - 1) / device_line * device_line;
    const Word64 begin = part * step;
    if (begin >= pair_.bytes) return;
    const Word64 bytes = pair_.bytes - begin < step ? pair_.bytes - begin : step;
    std::byte* const to = (task == Task::push ? pair_.other : pair_.buffer) + begin;
    const std::byte* const from = (task == Task::push ? pair_.buffer : pair_.other) + begin;
    copy_bytes(to, from, bytes);
  }

  const Pair& pair_;
  Half& half_;
  Place place_;
  Word64 kernel_;
  bool commanded_ = false;
};

}  // namespace penstock::transport::peer::cuda
