// SPDX-License-Identifier: Apache-2.0
// A block of a program's kernel that sends a share of a ring's messages: what
// penstock::DeviceSender does, where the functions are described.
#pragma once

#include "peer_gpu/block_share.cuh"

namespace penstock::peer_gpu {

class ShareSender {
 public:
  __device__ ShareSender(const DeviceHalf& half, unsigned index, unsigned count)
      : share_(half, index, count) {}

  __device__ std::size_t begin() const { return share_.begin(); }
  __device__ std::size_t end() const { return share_.end(); }
  __device__ bool serves() const { return share_.serves(); }

  __device__ bool start() {
    if (share_.is_empty()) return true;
    if (!share_.begin_call(share_.started() ? Failure::started_twice : Failure::none)) return false;
    __syncthreads();  // all have written the buffer
    const bool sent = is_plain(share_.half())
                          ? send<PlainCells>(share_.half(), share_.share(), share_.epoch())
                          : send_apart(share_.half(), share_.share(), share_.epoch());
    if (!share_.begin_call(sent ? Failure::none : Failure::not_ready)) return false;
    fin_ = SharePort<PlainCells, false>(share_.half(), share_.share()).look_at_fin();
    __syncthreads();  // all have read it
    share_.note_start();
    return true;
  }

  __device__ bool wait() {
    if (share_.is_empty()) return true;
    if (!share_.begin_call(share_.started() ? share_.may_wait() : Failure::not_started))
      return false;
    if (share_.half().mode == Mode::synchronous) return share_.end_wait(await<Mode::synchronous>());
    if (share_.epoch() < room_until_ || has_room()) return share_.end_known_wait();
    return share_.end_wait(await<Mode::standard>());
  }

 private:
  __device__ static protocol::SendState before(Epoch epoch) {
    protocol::SendState state;
    state.done = epoch - 1;
    return state;
  }

  // False: a receive that was promised has not been started, which each thread asks for itself.
  template <class Lines>
  __device__ static bool send(const DeviceHalf& half, const Share& share, Epoch epoch) {
    SharePort<Lines, false> port(half, share);
    protocol::SendState state = before(epoch);
    if (half.checks_ready)
      return __syncthreads_and(ring::start_send<Mode::ready>(port, state) ==
                               protocol::StartOutcome::started) != 0;
    (void)ring::start_send<Mode::standard>(port, state);
    return true;
  }
  __device__ __noinline__ static bool send_apart(const DeviceHalf& half, Share share, Epoch epoch) {
    return half.wide ? send<WideLines<Fit::any>>(half, share, epoch)
                     : send<Cells<Fit::any>>(half, share, epoch);
  }

  template <Mode mode>
  __device__ bool await() {
    SharePort<PlainCells, false> port(share_.half(), share_.share());  // for its words alone
    protocol::SendState state = before(share_.epoch());
    return poll_share<PlainCells>(share_.half(), share_.epoch(),
                                  [&] { return ring::wait_send<mode>(port, state); });
  }
  // By what start() has seen of FIN. Agreed on, as each thread looks at one part; for the next wait
  // too, if all have seen as much.
  __device__ bool has_room() {
    const Epoch needed = share_.epoch() + 1;
    const Word64 room = fin_ + ring_slots;
    if (__syncthreads_and(room >= needed + 1) != 0) {
      room_until_ = needed + 1;
      return true;
    }
    return __syncthreads_and(room >= needed) != 0;
  }

  BlockShare share_;
  Word64 fin_ = 0;        // of this thread's part, when the last message left
  Epoch room_until_ = 0;  // the waits of earlier epochs end at once
};

}  // namespace penstock::peer_gpu
