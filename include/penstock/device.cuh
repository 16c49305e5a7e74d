// SPDX-License-Identifier: Apache-2.0
// Messages inside kernels: a kernel of the program's starts a matched request when its data is
// made, and waits for one where it needs it, without a launch between. C++20; CUDA or HIP. Words:
// docs/kernels.md.
//
//   PST_Device_request to, from;                       // on the host, once
//   PST_Request_device(queue, send, blocks, &to);
//   PST_Request_device(queue, receive, blocks, &from);
//   step<<<1, 256, 0, stream>>>(to, from, data);
//
//   __global__ void step(PST_Device_request to, PST_Device_request from, double* data) {
//     penstock::DeviceSender send(to);
//     penstock::DeviceReceiver receive(from);
//     pack(data);             // into the buffer of the send
//     send.start();
//     if (receive.wait()) unpack(data);
//     send.wait();
//   }
//
// Kernels take handles as `const __grid_constant__ PST_Device_request`, where their compiler has
// that, so that no thread copies them.
//
// All threads of a block call each function, in the same order, but for peek(). An object serves a
// share of the message: all of it, or that of one of several blocks, each of which starts and waits
// for its own, whatever the others do. The message has come when all have. Share `index` of `count`
// has the bytes from begin() up to end(), of which messages are cut at a few places: of more blocks
// than there are parts some have none.
//
// The order is that of requests: start, wait, start, wait ...; a kernel may end between any two,
// and an enqueue call may be next. Another number of shares may serve the next epoch.
//
// Errors: a function that returns false has given the request up, and the queue of the handle has
// the error: a start without the wait before it, a wait in a block that may not wait, a handle
// whose request was freed, a peer that has ended. From then on all functions return false at once.
// A wait that nothing ends is in PENSTOCK_TIMEOUT's table, and ends by it.
#ifndef PENSTOCK_DEVICE_CUH
#define PENSTOCK_DEVICE_CUH

#include <penstock/device_request.h>
#include <penstock/device_code.cuh>

namespace penstock {

namespace detail {

static_assert(sizeof(kernel_code::peer_gpu::DeviceHalf) <= sizeof(PST_Device_request));

// The handle in place: it is an argument of the kernel, or a copy of one.
__device__ inline const kernel_code::peer_gpu::DeviceHalf& half_of(
    const PST_Device_request& handle) {
  return reinterpret_cast<const kernel_code::peer_gpu::DeviceHalf&>(handle);
}

}  // namespace detail

// Keeps a reference to the handle, which is to outlive it.
class DeviceSender {
 public:
  __device__ explicit DeviceSender(const PST_Device_request& handle, unsigned index = 0,
                                   unsigned count = 1)
      : share_(detail::half_of(handle), index, count) {}

  // In bytes of the message: what start() sends.
  __device__ std::size_t begin() const { return share_.begin(); }
  __device__ std::size_t end() const { return share_.end(); }

  // Sends what the block, or its predecessors, have written into the send buffer. It never waits,
  // so blocks of any number may call it. Afterwards the buffer may be written again.
  __device__ bool start() {
    using kernel_code::peer_gpu::Failure;
    if (share_.is_empty()) return true;
    if (!share_.begin_call(share_.started() ? Failure::started_twice : Failure::none)) return false;
    const bool sent =
        share_.half().wide
            ? send<kernel_code::peer_gpu::WideLines<kernel_code::peer_gpu::Fit::any>>()
            : send<kernel_code::peer_gpu::Cells<kernel_code::peer_gpu::Fit::any>>();
    if (!sent) return false;
    __syncthreads();  // all have read the buffer
    share_.note_start();
    return true;
  }

  // Waits until the next start has room: not for the receiver, unless the send is synchronous. Only
  // in a block that may wait.
  __device__ bool wait() {
    using kernel_code::peer_gpu::Failure;
    if (share_.is_empty()) return true;
    if (!share_.begin_call(share_.started() ? share_.may_wait() : Failure::not_started))
      return false;
    using Lines =
        kernel_code::peer_gpu::Cells<kernel_code::peer_gpu::Fit::any>;  // for its words alone
    const bool ended = share_.half().mode == kernel_code::protocol::Mode::synchronous
                           ? await<kernel_code::protocol::Mode::synchronous, Lines>()
                           : await<kernel_code::protocol::Mode::standard, Lines>();
    return share_.end_wait(ended);
  }

 private:
  __device__ kernel_code::protocol::SendState state() const {
    kernel_code::protocol::SendState state;
    state.done = share_.epoch() - 1;
    return state;
  }
  template <class Lines>
  __device__ bool send() {
    kernel_code::peer_gpu::SharePort<Lines, false> port(share_.half(), share_.parts());
    kernel_code::protocol::SendState now = state();
    if (share_.half().mode != kernel_code::protocol::Mode::ready || !share_.half().checks_ready) {
      (void)kernel_code::protocol::ring::start_send<kernel_code::protocol::Mode::standard>(port,
                                                                                           now);
      return true;
    }
    // Each thread asks for itself whether the receive has been started.
    const bool sent = kernel_code::protocol::ring::start_send<kernel_code::protocol::Mode::ready>(
                          port, now) == kernel_code::protocol::StartOutcome::started;
    return share_.begin_call(sent ? kernel_code::peer_gpu::Failure::none
                                  : kernel_code::peer_gpu::Failure::not_ready);
  }
  template <kernel_code::protocol::Mode mode, class Lines>
  __device__ bool await() {
    kernel_code::peer_gpu::SharePort<Lines, false> port(share_.half(), share_.parts());
    kernel_code::protocol::SendState now = state();
    return share_.poll<Lines>(
        [&] { return kernel_code::protocol::ring::wait_send<mode>(port, now); });
  }

  kernel_code::peer_gpu::BlockShare share_;
};

class DeviceReceiver {
 public:
  __device__ explicit DeviceReceiver(const PST_Device_request& handle, unsigned index = 0,
                                     unsigned count = 1)
      : share_(detail::half_of(handle), index, count) {
    state_.done = share_.epoch() - 1;
  }

  // In bytes of the message: what wait() copies out.
  __device__ std::size_t begin() const { return share_.begin(); }
  __device__ std::size_t end() const { return share_.end(); }

  // Tells the sender of a synchronous or checked ready send that the receive has been started;
  // nothing otherwise. It never waits.
  __device__ bool start() {
    if (share_.is_empty()) return true;
    const auto& half = share_.half();
    const bool tells = half.mode == kernel_code::protocol::Mode::synchronous || half.checks_ready;
    if (!tells) return true;
    if (!share_.begin_call(share_.started() ? kernel_code::peer_gpu::Failure::started_twice
                                            : kernel_code::peer_gpu::Failure::none))
      return false;
    kernel_code::peer_gpu::SharePort<kernel_code::peer_gpu::Cells<kernel_code::peer_gpu::Fit::any>,
                                     true>
        port(half, share_.parts());
    kernel_code::protocol::ring::start_receive<kernel_code::protocol::Mode::synchronous>(port,
                                                                                         state_);
    share_.note_start();
    return true;
  }

  // Whether the share of the next message is there. It never waits, and leaves the message where it
  // is: wait() returns at once then.
  __device__ bool arrived() {
    if (share_.is_empty()) return true;
    if (!share_.begin_call(kernel_code::peer_gpu::Failure::none)) return false;
    const bool mine =
        share_.half().wide
            ? look<kernel_code::peer_gpu::WideLines<kernel_code::peer_gpu::Fit::any>>()
            : look<kernel_code::peer_gpu::Cells<kernel_code::peer_gpu::Fit::any>>();
    return __syncthreads_and(mine) != 0;
  }

  // Looks so many times for the message, which is in the receive buffer if it returns true; the
  // receive has ended then. False: it has not come, or the half serves no more (failed()). A block
  // of any number may call it.
  __device__ bool wait_for(unsigned looks) {
    if (share_.is_empty()) return true;
    if (!share_.begin_call(kernel_code::peer_gpu::Failure::none)) return false;
    const bool mine =
        share_.half().wide
            ? take_in<kernel_code::peer_gpu::WideLines<kernel_code::peer_gpu::Fit::any>>(looks)
            : take_in<kernel_code::peer_gpu::Cells<kernel_code::peer_gpu::Fit::any>>(looks);
    if (__syncthreads_and(mine) == 0) return false;
    return ended(true);
  }

  // Waits for the message, which is in the receive buffer afterwards, for all threads of the block.
  // Only in a block that may wait.
  __device__ bool wait() { return wait_by<true>(); }

  // The element of so many, in a message of elements T of 4 or 8 bytes, from where it lies: into
  // `value`, if it has come. Any thread calls it by itself, of whatever share. Then all call
  // done(), in place of wait(), which copies nothing.
  template <class T>
  __device__ bool peek(std::size_t element, T& value) const {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    const std::size_t byte = element * sizeof(T);
    kernel_code::peer_gpu::Word64 word = 0;
    if (!word_at(byte / sizeof(kernel_code::peer_gpu::Word64), word)) return false;
    if constexpr (sizeof(T) == 4) word >>= byte % sizeof(kernel_code::peer_gpu::Word64) * 8;
    memcpy(&value, &word, sizeof(T));
    return true;
  }
  __device__ bool done() { return wait_by<false>(); }

 private:
  template <class Lines>
  __device__ bool look() {
    kernel_code::peer_gpu::SharePort<Lines, true> port(share_.half(), share_.parts());
    const auto epoch = share_.epoch();
    const auto flag = kernel_code::protocol::line_flag(epoch, port.flag_bits());
    bool all = true;
    for (std::uint32_t line = 0; line < port.lines(); ++line)
      all = all && port.load_flag(static_cast<unsigned>(epoch % port.slots()), line) == flag;
    return all;
  }
  template <class Lines>
  __device__ bool take_in(unsigned looks) {
    if (taken_) return true;
    kernel_code::peer_gpu::SharePort<Lines, true> port(share_.half(), share_.parts());
    for (unsigned i = 0; i < looks && !taken_; ++i)
      taken_ = kernel_code::protocol::ring::wait_receive(port, state_) ==
               kernel_code::protocol::Progress::ended;
    return taken_;
  }
  template <bool copies>
  __device__ bool wait_by() {
    if (share_.is_empty()) return true;
    if (!share_.begin_call(share_.may_wait())) return false;
    return ended(
        share_.half().wide
            ? taken_ ||
                  take<kernel_code::peer_gpu::WideLines<kernel_code::peer_gpu::Fit::any>, copies>()
            : taken_ ||
                  take<kernel_code::peer_gpu::Cells<kernel_code::peer_gpu::Fit::any>, copies>());
  }
  template <class Lines, bool copies>
  __device__ bool take() {
    kernel_code::peer_gpu::SharePort<Lines, true, copies> port(share_.half(), share_.parts());
    return share_.poll<Lines>(
        [&] { return kernel_code::protocol::ring::wait_receive(port, state_); });
  }
  __device__ bool ended(bool all) {
    if (!share_.end_wait(all)) return false;
    state_ = {};
    state_.done = share_.epoch() - 1;
    taken_ = false;
    return true;
  }
  __device__ bool word_at(std::size_t word, kernel_code::peer_gpu::Word64& value) const {
    const auto& half = share_.half();
    const auto slot = share_.epoch() % kernel_code::peer_gpu::ring_slots;
    const auto flag = kernel_code::protocol::line_flag(share_.epoch(), PENSTOCK_FLAG_BITS);
    if (!half.wide) {
      using Lines = kernel_code::peer_gpu::Cells<kernel_code::peer_gpu::Fit::any>;
      const auto cell = Lines::load(half.ring + slot * half.units + word);
      value = (cell.low & 0xffffffffu) | cell.high << 32;
      return Lines::flag_of(cell) == flag;
    }
    constexpr std::size_t words =
        kernel_code::peer_gpu::wide_payload / sizeof(kernel_code::peer_gpu::Word64);
    kernel_code::peer_gpu::Cell* const line =
        half.ring + (slot * half.units + word / words) * kernel_code::peer_gpu::wide_cells;
    const auto flagged =
        kernel_code::gpu::SystemWord(line[kernel_code::peer_gpu::wide_cells - 1].high)
            .load(::cuda::memory_order_acquire);
    const std::size_t at = word % words;
    const kernel_code::peer_gpu::Cell cell =
        kernel_code::gpu::load_cell(line + at % kernel_code::peer_gpu::wide_cells);
    value = at < kernel_code::peer_gpu::wide_cells ? cell.low : cell.high;
    return flagged == flag;
  }

  kernel_code::peer_gpu::BlockShare share_;
  kernel_code::protocol::ReceiveState state_;
  bool taken_ =
      false;  // this thread has its part of the message, in a wait_for() that found no end
};

}  // namespace penstock

// How many leading blocks of a launch of `kernel` may wait on the current device: a quarter of the
// blocks of so many threads and so much dynamic shared memory that it has places for, and one at
// least. So three kernels of the kind may wait beside each other, and what they wait for finds a
// place.
template <class Kernel>
cudaError_t PST_Device_wait_blocks(Kernel* kernel, int threads, std::size_t shared_bytes,
                                   int* blocks) {
  int device = 0, processors = 0, resident = 0;
  cudaError_t code = cudaGetDevice(&device);
  if (code == cudaSuccess)
    code = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  if (code == cudaSuccess)
    code = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, threads, shared_bytes);
  if (code == cudaSuccess) *blocks = resident * processors / 4 > 0 ? resident * processors / 4 : 1;
  return code;
}

#endif
