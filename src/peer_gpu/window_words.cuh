// SPDX-License-Identifier: Apache-2.0
// A block's port to the words of a window's pair, which are all that an end needs that closes. All
// threads call it alike; thread 0 makes each access, and all learn what it saw.
#pragma once

#include "gpu/block.cuh"
#include "peer_gpu/peer_dead.cuh"
#include "protocol/window.hpp"

namespace penstock::peer_gpu {

using gpu::Order, gpu::SystemWord, gpu::agree, gpu::order_of;
using protocol::Word;

class WindowWords {
 public:
  static constexpr bool native_atomics = true;  // it claims nothing
  static constexpr bool may_close = true;
  static constexpr bool deferred = rings_are_deferred;

  __device__ explicit WindowWords(const Pair& pair) : pair_(pair) {}

  template <Order order>
  __device__ Word64 load(Word word) {
    if (const unsigned bit = 1u << static_cast<unsigned>(word); (known_ & bit) != 0) {
      known_ &= ~bit;
      return word == Word::cts ? cts_ : word == Word::fin ? fin_ : closed_;
    }
    return agree(threadIdx.x == 0 ? SystemWord(at(word)).load(order_of(order)) : 0);
  }
  template <Order order>
  __device__ void store(Word word, Word64 value) const {
    __syncthreads();  // what the other threads have done comes before a release
    if (threadIdx.x == 0 && !(pair_.gated && peer_is_dead(pair_)))
      SystemWord(at(word)).store(value, order_of(order));
  }
  __device__ Word64 exchange(Word, Word64) const { return 0; }
  template <Order order>
  __device__ void fence() {
    if (fenced_) return;
    __syncthreads();
    if (threadIdx.x == 0) ::cuda::atomic_thread_fence(order_of(order), ::cuda::thread_scope_system);
  }
  // Of an origin: its words, as it found them when it began. Words only grow, so looks may be taken
  // ahead, together.
  __device__ void know(Word64 cts, Word64 fin, Word64 receiver_closed) {
    cts_ = cts;
    fin_ = fin;
    closed_ = receiver_closed;
    known_ = 1u << static_cast<unsigned>(Word::cts) | 1u << static_cast<unsigned>(Word::fin) |
             1u << static_cast<unsigned>(Word::receiver_closed);
  }
  __device__ static constexpr bool copy_failed() { return false; }
  __device__ static constexpr unsigned slots() { return ring_slots; }
  __device__ static constexpr std::uint32_t lines() { return 1; }
  __device__ static constexpr unsigned flag_bits() { return PENSTOCK_FLAG_BITS; }
  __device__ static constexpr bool checks_ready() { return false; }
  __device__ void push() {}
  __device__ void pull() {}
  __device__ void fill(unsigned, std::uint32_t) {}
  __device__ void drain(unsigned, std::uint32_t) {}
  __device__ Word64 load_flag(unsigned, std::uint32_t) { return 0; }
  __device__ void store_flag(unsigned, std::uint32_t, Word64) {}
  __device__ protocol::window::Head head() const { return {}; }
  __device__ protocol::window::Promise promise() const { return {}; }
  __device__ protocol::window::Head read_head(unsigned) const { return {}; }
  __device__ void move(std::uint32_t) {}
  template <Order>
  __device__ void store_part(std::uint32_t, Word64) {}
  template <Order>
  __device__ Word64 load_part(std::uint32_t) {
    return 0;
  }

 protected:
  __device__ Word64& at(Word word) const {
    switch (word) {
      case Word::cts:
        return pair_.sender->cts;
      case Word::fin:
        return pair_.sender->fin[0];
      case Word::receiver_closed:
        return pair_.sender->closed;
      default:
        return pair_.receiver->closed;
    }
  }

  const Pair& pair_;
  bool fenced_ = false;

 private:
  unsigned known_ = 0;  // a bit a word
  Word64 cts_ = 0, fin_ = 0, closed_ = 0;
};

}  // namespace penstock::peer_gpu
