// SPDX-License-Identifier: Apache-2.0
// The blocks of one kernel that waits, in one of two forms. Where few kernels wait on a device, all
// blocks stay. Where many do, all but one may leave (protocol/relief.hpp): so each kernel keeps one
// block there, and what they wait for finds room. The first form has no code for the second: each
// instruction more, and each register that is kept for what seldom happens, shows in the time of 8
// bytes (docs/performance.md).
#pragma once

#include "gpu/block.cuh"
#include "gpu/poll_timer.cuh"
#include "peer_gpu/batch.hpp"
#include "protocol/relief.hpp"

namespace penstock::peer_gpu {

using gpu::DeviceWord, gpu::PollTimer, gpu::Request, gpu::agree;

enum class Form { all_stay, one_stays };

template <Form>
class Crew;

template <>
class Crew<Form::all_stay> {
 public:
  static __device__ constexpr bool stays() { return false; }
  static __device__ void leave(bool) {}
  static __device__ void stay() {}
  static __device__ Request ask(PollTimer& timer) { return timer.late(); }
};

template <>
class Crew<Form::one_stays> {
 public:
  // `first`: the kernel's first pair, which no other kernel serves meanwhile.
  __device__ explicit Crew(const Pair& first) : word_(words_of(first).relief) {
    if (threadIdx.x == 0) request() = 0;
    __syncthreads();
  }

  // What is asked of a wait that lasts.
  static __device__ Request ask(PollTimer& timer) { return timer.late(request()); }

  // Whose duty this block does.
  __device__ unsigned duty() const { return duty_; }
  // Whether this is the block that stays. It then serves other blocks' duties, is not asked to
  // leave again, and keeps the next kernel's blocks out.
  __device__ bool stays() const { return stays_; }

  // All threads call it when one was asked to leave and the part at hand can be repeated: the duty
  // then starts again. `may_stay`: the block waits for no other one.
  __device__ void leave(bool may_stay) {
    using protocol::relief::Answer;
    Word64 answer = static_cast<Word64>(Answer::stay);
    if (gridDim.x > 1) {
      if (threadIdx.x == 0) {
        CrewWord word{word_};
        answer = static_cast<Word64>(protocol::relief::leave(word, duty_, may_stay));
      }
    }
    if (threadIdx.x == 0) request() = 0;
    answer = agree(answer);
    stays_ = answer == static_cast<Word64>(Answer::stay);
    again_ = answer != static_cast<Word64>(Answer::leave);
  }

  // All threads call it when one was asked to leave and the part at hand cannot be repeated: the
  // duty continues. The block must not wait for another one.
  __device__ void stay() {
    if (threadIdx.x == 0) request() = 0;
    if (stays_ || gridDim.x == 1) return;
    CrewWord word{word_};
    stays_ = agree(threadIdx.x == 0 && protocol::relief::stay(word) ? 1 : 0) != 0;
  }

  // All threads call it when they are through with a duty. Says whether there is another one, or
  // the same has to be begun anew.
  __device__ bool goes_on() {
    if (again_) {
      again_ = false;
      return true;
    }
    if (!stays_ || gridDim.x == 1) return false;
    CrewWord word{word_};
    const auto next = static_cast<int>(
        agree(threadIdx.x == 0 ? static_cast<Word64>(protocol::relief::next(word)) : 0));
    if (next == protocol::relief::no_duty) return false;
    duty_ = static_cast<unsigned>(next);
    return true;
  }

 private:
  static __device__ std::uint32_t& request() {
    __shared__ std::uint32_t word;
    return word;
  }
  struct CrewWord {
    Word64& word;
    __device__ Word64 load() const { return DeviceWord(word).load(::cuda::memory_order_relaxed); }
    __device__ bool exchange_if(Word64& expected, Word64 desired) const {
      return DeviceWord(word).compare_exchange_strong(
          expected, desired, ::cuda::memory_order_acq_rel, ::cuda::memory_order_relaxed);
    }
  };

  Word64& word_;
  unsigned duty_ = blockIdx.x;
  bool stays_ = false;
  bool again_ = false;
};

}  // namespace penstock::peer_gpu
