// SPDX-License-Identifier: Apache-2.0
// A block of a program's kernel that receives a share of a ring's messages: what
// penstock::DeviceReceiver does, where the functions are described.
#pragma once

#include "peer_gpu/block_share.cuh"

namespace penstock::peer_gpu {

class ShareReceiver {
 public:
  __device__ ShareReceiver(const DeviceHalf& half, unsigned index, unsigned count)
      : share_(half, index, count), timer_(share_.timer()) {
    taken_.state.done = share_.epoch() - 1;
  }

  __device__ std::size_t begin() const { return share_.begin(); }
  __device__ std::size_t end() const { return share_.end(); }
  __device__ bool serves() const { return share_.serves(); }

  __device__ bool start() {
    if (share_.is_empty()) return true;
    const DeviceHalf& half = share_.half();
    if (half.mode != Mode::synchronous && !half.checks_ready) return share_.serves();
    if (!share_.begin_call(share_.started() ? Failure::started_twice : Failure::none)) return false;
    SharePort<PlainCells, true> port(half, share_.share());
    ring::start_receive<Mode::synchronous>(port, taken_.state);
    share_.note_start();
    return true;
  }

  __device__ bool arrived() {
    if (share_.is_empty()) return true;
    if (!share_.serves()) return false;
    const bool mine = is_plain(share_.half())
                          ? look<PlainCells>(share_.half(), share_.share(), share_.epoch())
                          : look_apart(share_.half(), share_.share(), share_.epoch());
    return __syncthreads_and(mine) != 0 || not_yet();
  }

  __device__ bool wait_for(unsigned looks) {
    if (share_.is_empty()) return true;
    if (!share_.serves()) return false;
    __syncthreads();  // nobody reads the buffer any more
    if (!taken_.ended)
      taken_ = is_plain(share_.half())
                   ? take_in<PlainCells>(share_.half(), share_.share(), taken_, looks)
                   : take_in_apart(share_.half(), share_.share(), taken_, looks);
    return __syncthreads_and(taken_.ended) != 0 ? ended(true) : not_yet();
  }

  __device__ bool wait_in_place() {
    if (share_.is_empty()) return true;
    if (!share_.begin_call(share_.may_wait())) return false;
    return share_.all_found(is_plain(share_.half())
                                ? find<PlainCells>(share_.half(), share_.share(), share_.epoch())
                                : find_apart(share_.half(), share_.share(), share_.epoch()));
  }

  __device__ bool wait() { return wait_by<true>(); }
  __device__ bool done() { return wait_by<false>(); }

  template <class T>
  __device__ bool peek(std::size_t element, T& value) const {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "elements have 4 or 8 bytes");
    const std::size_t byte = element * sizeof(T);
    Word64 word = 0;
    if (!share_.serves() || byte < begin() || byte >= end()) return false;
    if (!word_at(byte / sizeof(Word64), word)) return false;
    if constexpr (sizeof(T) == 4) word >>= byte % sizeof(Word64) * 8;
    memcpy(&value, &word, sizeof(T));
    return true;
  }

 private:
  // What this thread has of the message that comes.
  struct Taken {
    protocol::ReceiveState state;
    bool ended = false;
  };

  template <class Lines>
  __device__ static bool look(const DeviceHalf& half, const Share& share, Epoch epoch) {
    SharePort<Lines, true> port(half, share);
    const auto flag = protocol::line_flag(epoch, port.flag_bits());
    bool all = true;
    for (std::uint32_t line = 0; line < port.lines(); ++line)
      all = all && port.load_flag(static_cast<unsigned>(epoch % port.slots()), line) == flag;
    return all;
  }
  __device__ __noinline__ static bool look_apart(const DeviceHalf& half, Share share, Epoch epoch) {
    return half.wide ? look<WideLines<Fit::any>>(half, share, epoch)
                     : look<Cells<Fit::any>>(half, share, epoch);
  }

  template <class Lines>
  __device__ static bool find(const DeviceHalf& half, const Share& share, Epoch epoch) {
    return poll_share<Lines>(half, epoch, [&] {
      return look<Lines>(half, share, epoch) ? Progress::ended : Progress::pending;
    });
  }
  __device__ __noinline__ static bool find_apart(const DeviceHalf& half, Share share, Epoch epoch) {
    return half.wide ? find<WideLines<Fit::any>>(half, share, epoch)
                     : find<Cells<Fit::any>>(half, share, epoch);
  }

  template <class Lines>
  __device__ static Taken take_in(const DeviceHalf& half, const Share& share, Taken taken,
                                  unsigned looks) {
    SharePort<Lines, true> port(half, share);
    for (unsigned i = 0; i < looks && !taken.ended; ++i)
      taken.ended = ring::wait_receive(port, taken.state) == Progress::ended;
    return taken;
  }
  __device__ __noinline__ static Taken take_in_apart(const DeviceHalf& half, Share share,
                                                     Taken taken, unsigned looks) {
    return half.wide ? take_in<WideLines<Fit::any>>(half, share, taken, looks)
                     : take_in<Cells<Fit::any>>(half, share, taken, looks);
  }

  template <bool copies>
  __device__ bool wait_by() {
    if (share_.is_empty()) return true;
    if (!share_.begin_call(share_.may_wait())) return false;
    if constexpr (copies) __syncthreads();  // nobody reads the buffer any more
    // Some threads may have their part from looks before.
    if (!taken_.ended)
      taken_.ended = is_plain(share_.half())
                         ? take<PlainCells, copies>(share_.half(), share_.share(), taken_.state)
                         : take_apart<copies>(share_.half(), share_.share(), taken_.state);
    return ended(taken_.ended);
  }
  template <class Lines, bool copies>
  __device__ static bool take(const DeviceHalf& half, const Share& share,
                              protocol::ReceiveState state) {
    SharePort<Lines, true, copies> port(half, share);
    return poll_share<Lines>(half, state.done + 1, [&] { return ring::wait_receive(port, state); });
  }
  template <bool copies>
  __device__ __noinline__ static bool take_apart(const DeviceHalf& half, Share share,
                                                 protocol::ReceiveState state) {
    return half.wide ? take<WideLines<Fit::any>, copies>(half, share, state)
                     : take<Cells<Fit::any>, copies>(half, share, state);
  }

  // Looks in a loop end with the peer, or by the time limit, as waits do. False.
  __device__ bool not_yet() {
    const bool lost = thread_in_block() == 0 && share_.is_lost(timer_);
    share_.all_found(!lost);
    return false;
  }

  __device__ bool ended(bool all) {
    if (thread_in_block() == 0) timer_.ended();
    if (!share_.end_wait(all)) return false;
    timer_ = share_.timer();
    taken_ = {};
    taken_.state.done = share_.epoch() - 1;
    return true;
  }

  __device__ bool word_at(std::size_t word, Word64& value) const {
    const DeviceHalf& half = share_.half();
    const auto slot = share_.epoch() % ring_slots;
    const auto flag = protocol::line_flag(share_.epoch(), PENSTOCK_FLAG_BITS);
    if (!half.wide) {
      const Cell cell = PlainCells::load(half.ring + slot * half.units + word);
      value = (cell.low & 0xffffffffu) | cell.high << 32;
      return PlainCells::flag_of(cell) == flag;
    }
    constexpr std::size_t words = wide_payload / sizeof(Word64);
    Cell* const line = half.ring + (slot * half.units + word / words) * wide_cells;
    // Acquire: the line was seen whole with its flag, so its other words are there.
    const Word64 seen = SystemWord(line[wide_cells - 1].high).load(::cuda::memory_order_acquire);
    const std::size_t at = word % words;
    const Cell cell = gpu::load_cell(line + at % wide_cells);
    value = at < wide_cells ? cell.low : cell.high;
    return seen == flag;
  }

  BlockShare share_;
  Taken taken_;      // by looks that have not found all of it
  PollTimer timer_;  // of these
};

}  // namespace penstock::peer_gpu
