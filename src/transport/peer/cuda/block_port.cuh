// SPDX-License-Identifier: Apache-2.0
// The port of one block to a rendezvous: a block acts as one processor. All its threads run the state machine alike;
// thread 0 makes each access, and all learn what it saw.
#pragma once

#include "transport/peer/cuda/team.cuh"

namespace penstock::transport::peer::cuda {

using protocol::Word;

template <bool native>
class BlockPort {
 public:
  static constexpr bool native_atomics = native;

  __device__ BlockPort(const Pair& pair, Team& team) : pair_(pair), team_(team) {}

  template <Order order>
  __device__ Word64 load(Word word) const {
    return agree(threadIdx.x == 0 ? SystemWord(at(word)).load(order_of(order)) : 0);
  }
  template <Order order>
  __device__ void store(Word word, Word64 value) const {
    __syncthreads();  // what the other threads have done comes before a release
    if (threadIdx.x == 0) SystemWord(at(word)).store(value, order_of(order));
  }
  __device__ Word64 exchange(Word word, Word64 value) const {
    return agree(threadIdx.x == 0 ? SystemWord(at(word)).exchange(value, ::cuda::memory_order_acq_rel) : 0);
  }
  // By one thread, without the others.
  __device__ void exchange_alone(Word word, Word64 value) const {
    SystemWord(at(word)).exchange(value, ::cuda::memory_order_acq_rel);
  }
  __device__ void fence() const {
    ::cuda::atomic_thread_fence(::cuda::memory_order_seq_cst, ::cuda::thread_scope_system);
  }

  __device__ void push() { team_.carry_out(Task::push); }
  __device__ void pull() { team_.carry_out(Task::pull); }

  __device__ void fill(unsigned, std::uint32_t) {}
  __device__ void drain(unsigned, std::uint32_t) {}
  __device__ Word64 load_flag(unsigned, std::uint32_t) const { return 0; }
  __device__ void store_flag(unsigned, std::uint32_t, Word64) {}
  __device__ unsigned slots() const { return pair_.slots; }
  __device__ std::uint32_t lines() const { return 0; }
  __device__ static constexpr unsigned flag_bits() { return PENSTOCK_FLAG_BITS; }
  __device__ bool checks_ready() const { return pair_.checks_ready; }

 private:
  __device__ Word64& at(Word word) const {
    switch (word) {
      case Word::cts:
        return pair_.sender->cts;
      case Word::fin:
        return pair_.sender->fin;
      case Word::pull:
        return pair_.sender->pull;
      case Word::push:
        return pair_.sender->push;
      case Word::claim:
        return pair_.sender->claim;
      case Word::rts:
        return pair_.receiver->rts;
      case Word::done:
        break;
    }
    return pair_.receiver->done;
  }

  const Pair& pair_;
  Team& team_;
};

}  // namespace penstock::transport::peer::cuda
