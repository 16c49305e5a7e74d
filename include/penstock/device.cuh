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

  // Whether the half still serves. False: the queue has the error.
  __device__ bool serves() const { return share_.serves(); }

  // Sends what the block, or its predecessors, have written into the send buffer. It never waits,
  // so blocks of any number may call it. Afterwards the buffer may be written again.
  __device__ bool start() { return share_.start(); }

  // Waits until the next start has room: not for the receiver, unless the send is synchronous. Only
  // in a block that may wait.
  __device__ bool wait() { return share_.wait(); }

 private:
  kernel_code::peer_gpu::ShareSender share_;
};

// The same of a receive.
class DeviceReceiver {
 public:
  __device__ explicit DeviceReceiver(const PST_Device_request& handle, unsigned index = 0,
                                     unsigned count = 1)
      : share_(detail::half_of(handle), index, count) {}

  // In bytes of the message: what wait() copies out.
  __device__ std::size_t begin() const { return share_.begin(); }
  __device__ std::size_t end() const { return share_.end(); }
  __device__ bool serves() const { return share_.serves(); }

  // Tells the sender of a synchronous or checked ready send that the receive has been started;
  // nothing otherwise. It never waits.
  __device__ bool start() { return share_.start(); }

  // Whether the share of the next message is there. It never waits, and leaves the message where it
  // is: wait() returns at once then.
  __device__ bool arrived() { return share_.arrived(); }

  // Looks so many times for the message, which is in the receive buffer if it returns true; the
  // receive has ended then. False: it has not come, or the half serves no more: see serves(). A
  // block of any number may call it.
  __device__ bool wait_for(unsigned looks) { return share_.wait_for(looks); }

  // Waits for the message, which is in the receive buffer afterwards, for all threads of the block.
  // Only in a block that may wait.
  __device__ bool wait() { return share_.wait(); }

  // Waits for the message, and leaves it where it lies: for peek(), and done() behind it. Only in a
  // block that may wait.
  __device__ bool wait_in_place() { return share_.wait_in_place(); }

  // Element number `element` of a message of elements T of 4 or 8 bytes, from where it lies: into
  // `value`, if it has come. Any thread calls it by itself, for elements of this share; of others
  // it is false. A loop until it has come would not end with a peer that has: look so often, or
  // call wait_in_place() first.
  template <class T>
  __device__ bool peek(std::size_t element, T& value) const {
    return share_.peek(element, value);
  }

  // In place of wait(), of a message that is not to be copied.
  __device__ bool done() { return share_.done(); }

 private:
  kernel_code::peer_gpu::ShareReceiver share_;
};

}  // namespace penstock

// How many leading blocks of a launch of `kernel` may wait on the current device: a quarter of the
// blocks of so many threads and so much dynamic shared memory that it has places for, and one at
// least. So three kernels of the kind may wait beside each other, and what they wait for finds a
// place.
#if PENSTOCK_HIP
using PST_Device_error = hipError_t;
#else
using PST_Device_error = cudaError_t;
#endif
template <class Kernel>
PST_Device_error PST_Device_wait_blocks(Kernel* kernel, int threads, std::size_t shared_bytes,
                                        int* blocks) {
  int device = 0, processors = 0, resident = 0;
#if PENSTOCK_HIP
  PST_Device_error code = hipGetDevice(&device);
  if (code == hipSuccess)
    code = hipDeviceGetAttribute(&processors, hipDeviceAttributeMultiprocessorCount, device);
  if (code == hipSuccess)
    code = hipOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, threads, shared_bytes);
#else
  PST_Device_error code = cudaGetDevice(&device);
  if (code == cudaSuccess)
    code = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  if (code == cudaSuccess)
    code = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, threads, shared_bytes);
#endif
  const int quarter = resident * processors / 4;
  if (static_cast<int>(code) == 0) *blocks = quarter > 0 ? quarter : 1;
  return code;
}

#endif
