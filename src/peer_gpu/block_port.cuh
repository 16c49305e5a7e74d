// SPDX-License-Identifier: Apache-2.0
// The port of one block to a rendezvous: a block acts as one processor. All its threads run the
// state machine alike; thread 0 makes each access, and all learn what it saw.
#pragma once

#include "peer_gpu/team.cuh"

namespace penstock::peer_gpu {

using gpu::Order, gpu::order_of;
using protocol::Word;

template <bool native>
class BlockPort {
 public:
  static constexpr bool native_atomics = native;
  static constexpr bool may_close = true;

  __device__ BlockPort(const Pair& pair, Team& team) : pair_(pair), team_(team) {}

  template <Order order>
  __device__ Word64 load(Word word) const {
    if (word == Word::fin) return least(pair_.sender->fin);
    if (word == Word::done) return least(pair_.receiver->done);
    if (polled_ahead_ && word == Word::cts) return cts_;
    if (polled_ahead_ && word == Word::receiver_closed) return closed_;
    return agree(threadIdx.x == 0 ? SystemWord(at(word)).load(order_of(order)) : 0);
  }
  // FIN and DONE are said part by part: see Team.
  template <Order order>
  __device__ void store(Word word, Word64 value) const {
    if (word == Word::fin || word == Word::done) return;
    __syncthreads();  // what the other threads have done comes before a release
    if (threadIdx.x == 0) SystemWord(at(word)).store(value, order_of(order));
  }
  __device__ Word64 exchange(Word word, Word64 value) const {
    return agree(
        threadIdx.x == 0 ? SystemWord(at(word)).exchange(value, ::cuda::memory_order_acq_rel) : 0);
  }
  __device__ static constexpr bool copy_failed() { return false; }
  // Thread 0 speaks for the block: a barrier lies between what the others have copied and its
  // fence. What follows a copy asks for one once, and the copy ends with it.
  template <Order order>
  __device__ void fence() const {
    if (threadIdx.x == 0 && !team_.fenced())
      ::cuda::atomic_thread_fence(order_of(order), ::cuda::thread_scope_system);
  }
  // What a start of a send asks for, looked at before.
  __device__ void know(Word64 cts, Word64 receiver_closed) {
    cts_ = cts;
    closed_ = receiver_closed;
    polled_ahead_ = true;
  }

  __device__ void push() { team_.lead(Task::push); }
  __device__ void pull() { team_.lead(Task::pull); }

  __device__ void fill(unsigned, std::uint32_t) {}
  __device__ void drain(unsigned, std::uint32_t) {}
  __device__ Word64 load_flag(unsigned, std::uint32_t) const { return 0; }
  __device__ void store_flag(unsigned, std::uint32_t, Word64) {}
  __device__ static constexpr unsigned slots() { return 0; }
  __device__ std::uint32_t lines() const { return 0; }
  __device__ static constexpr unsigned flag_bits() { return PENSTOCK_FLAG_BITS; }
  __device__ bool checks_ready() const { return pair_.checks_ready; }

 private:
  // The epoch that all parts have reached.
  __device__ Word64 least(Word64* words) const {
    constexpr unsigned warp = 32;
    Word64 reached = ~Word64{0};
    if (threadIdx.x < warp) {
      for (unsigned part = threadIdx.x; part < pair_.parts; part += warp)
        reached = min(reached, SystemWord(words[part]).load(::cuda::memory_order_acquire));
      for (unsigned apart = warp / 2; apart > 0; apart /= 2)
        reached = min(reached, __shfl_xor_sync(~0u, reached, apart));
    }
    return agree(reached);
  }
  __device__ Word64& at(Word word) const {
    switch (word) {
      case Word::cts:
        return pair_.sender->cts;
      case Word::pull:
        return pair_.sender->pull;
      case Word::push:
        return pair_.sender->push;
      case Word::claim:
        return pair_.sender->claim;
      case Word::receiver_closed:
        return pair_.sender->closed;
      case Word::sender_closed:
        return pair_.receiver->closed;
      default:
        break;
    }
    return pair_.receiver->rts;
  }

  const Pair& pair_;
  Team& team_;
  bool polled_ahead_ = false;
  Word64 cts_ = 0;
  Word64 closed_ = 0;
};

}  // namespace penstock::peer_gpu
