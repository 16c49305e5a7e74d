// SPDX-License-Identifier: Apache-2.0
// A block of a program's kernel that serves a share of a ring's messages: what it knows of the
// half, how it waits, and how it gives the half up. All threads of the block call each function.
#pragma once

#include "gpu/poll_timer.cuh"
#include "gpu/reports.cuh"
#include "peer_gpu/share_port.cuh"
#include "protocol/ring.hpp"

namespace penstock::peer_gpu {

using gpu::DeviceWord, gpu::Failure, gpu::PollTimer, gpu::Request;
using protocol::Epoch, protocol::Mode, protocol::Progress;

namespace ring = protocol::ring;

// The first failure of a queue is the one that is reported. A half that is another one's by now is
// not touched. One thread may have seen what others have not; what is returned is for all. Apart,
// as it is seldom run.
__device__ __noinline__ inline Failure give_up(const DeviceHalf& half, Epoch epoch, Failure seen) {
  __shared__ unsigned reason;
  __syncthreads();
  if (thread_in_block() == 0) reason = 0;
  __syncthreads();
  atomicMax(&reason, static_cast<unsigned>(seen));
  __syncthreads();
  const auto why = static_cast<Failure>(reason);
  if (thread_in_block() != 0) return why;
  if (why != Failure::handle_freed) {
    Word64 none = 0;
    DeviceWord(half.words->given_up)
        .compare_exchange_strong(none, epoch, ::cuda::memory_order_relaxed);
    SystemWord(half.notice->given_up).store(epoch, ::cuda::memory_order_release);
  }
  gpu::report_first({*half.report, *half.queue_failure}, half.id, why);
  return why;
}

// Looks until `step` says that the wait of the epoch has ended, or until the host ends it. Then it
// looks once more, as what it is for may have come just before.
template <class Lines, class Step>
__device__ inline bool poll_share(const DeviceHalf& half, Epoch epoch, Step step) {
  if (step() == Progress::ended) return true;
  PollTimer timer({*half.report, *half.queue_failure}, half.id, half.notice->awaited, epoch);
  bool goes_on = true;
  do {
#pragma unroll 1
    for (unsigned look = 0; look < PollTimer::polls_between; ++look) {
      if (step() != Progress::ended) continue;
      timer.ended();
      return true;
    }
    goes_on = timer.late() == Request::go_on;
  } while (!Lines::any(!goes_on));
  timer.ended();
  return step() == Progress::ended;
}

class BlockShare {
 public:
  // Block `index` of the `count` blocks that serve the message together. What a thread finds is
  // agreed on once; from then on all of the block decide alike. The barrier lies behind what an
  // object before this one has stored.
  __device__ BlockShare(const DeviceHalf& half, unsigned index, unsigned count)
      : half_(half), share_(half, index, count) {
    if (half.layout != device_layout) vendor::trap();  // nothing in the handle can be relied on
    __syncthreads();
    // All of it is asked for at once.
    PartWords& own = half.words[share_.first_part];
    const Word64 life = load(life_of(half)), failed = load(half.queue_failure->failed),
                 given_up = load(half.words->given_up), started = load(own.started);
    done_ = load(own.done);
    started_ = has_started(started, done_ + 1);
    if (life != half.life)
      why_not_ = Failure::handle_freed;
    else if ((failed | given_up) != 0)
      why_not_ = Failure::given_up;
    else if (half.wide && is_many_rowed())
      why_not_ = Failure::block_shape;
    // CTS of an epoch says that the slots of those before are free: so one block says it, and takes
    // what has come.
    else if (count > 1 && !half.sends && half.mode == Mode::synchronous)
      why_not_ = Failure::shares;
    if (__syncthreads_or(why_not_ != Failure::none) != 0)
      why_not_ = give_up(half, epoch(), why_not_);
  }

  __device__ const DeviceHalf& half() const { return half_; }
  __device__ const Share& share() const { return share_; }
  __device__ Epoch epoch() const { return done_ + 1; }
  __device__ bool started() const { return started_; }
  __device__ bool is_empty() const { return share_.parts == 0; }
  __device__ std::uint64_t begin() const { return position(share_.first_part * half_.part_units); }
  __device__ std::uint64_t end() const {
    return position((share_.first_part + share_.parts) * half_.part_units);
  }

  // False: the half serves no more, or `misused` says why this call is wrong.
  __device__ bool begin_call(Failure misused) {
    if (why_not_ != Failure::none) return false;
    if (misused != Failure::none) why_not_ = give_up(half_, epoch(), misused);
    return misused == Failure::none;
  }
  __device__ bool serves() const { return why_not_ == Failure::none; }
  // Of a look that has found nothing, by one thread: whether the half is given up, as the host, or
  // another kernel, has said meanwhile.
  __device__ bool is_lost(PollTimer& timer) const {
    return timer.late() != Request::go_on ||
           (load(half_.queue_failure->failed) | load(half_.words->given_up)) != 0;
  }
  __device__ PollTimer timer() const {
    return {{*half_.report, *half_.queue_failure}, half_.id, half_.notice->awaited, epoch()};
  }
  // No block waits that leaves the others no place.
  __device__ Failure may_wait() const {
    return block_in_grid() < half_.wait_blocks ? Failure::none : Failure::waits_late;
  }

  // What the parts' private words say, stored by as many threads.
  __device__ void note_start() {
    started_ = true;
    each_part([&](PartWords& words) { words.started = peer_gpu::started(epoch(), Left::nothing); });
  }
  // What is waited for has been found, by all threads of the block. False: by some it has not.
  __device__ bool all_found(bool found) {
    if (__syncthreads_or(!found) == 0) return true;
    why_not_ = give_up(half_, epoch(), found ? Failure::none : Failure::released);
    return false;
  }
  __device__ bool end_wait(bool found) { return all_found(found) && end_known_wait(); }
  // All threads know that it has.
  __device__ bool end_known_wait() {
    ++done_;
    started_ = false;
    each_part([&](PartWords& words) { words.done = done_; });
    return true;
  }

 private:
  __device__ static Word64 load(Word64& word) {
    return DeviceWord(word).load(::cuda::memory_order_relaxed);
  }
  // Eight threads beside each other move a line of 128 bytes (lines.cuh).
  __device__ static bool is_many_rowed() {
    return blockDim.y * blockDim.z != 1 || blockDim.x % wide_cells != 0;
  }
  __device__ std::uint64_t position(std::uint32_t unit) const {
    const std::uint64_t payload = half_.wide ? wide_payload : cell_payload;
    return min(half_.bytes, unit * payload);
  }
  template <class Each>
  __device__ void each_part(Each each) const {
    for (unsigned i = thread_in_block(); i < share_.parts; i += threads_of_block())
      each(half_.words[share_.first_part + i]);
  }

  const DeviceHalf& half_;
  const Share share_;
  Epoch done_ = 0;
  bool started_ = false;
  Failure why_not_ = Failure::none;
};

}  // namespace penstock::peer_gpu
