// SPDX-License-Identifier: Apache-2.0
#include "cuda/request_kernels.hpp"

#include <penstock/device.cuh>

namespace penstock::test {
namespace {

__device__ std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}
__device__ std::byte expected(std::uint64_t key, std::uint64_t epoch, std::uint64_t at) {
  return static_cast<std::byte>(mix(mix(key ^ epoch * 2 + 1) + at / 8) >> (8 * (at % 8)));
}

__device__ unsigned linear_thread() {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
__device__ unsigned all_threads() {
  return blockDim.x * blockDim.y * blockDim.z;
}
__device__ void add(std::uint64_t& count, std::uint64_t more) {
  if (more != 0)
    atomicAdd_system(reinterpret_cast<unsigned long long*>(&count),
                     static_cast<unsigned long long>(more));
}

__device__ void fill(const KernelEnd& out, std::size_t begin, std::size_t end,
                     std::uint64_t epoch) {
  for (std::size_t i = begin + linear_thread(); i < end; i += all_threads())
    out.buffer[i] = expected(out.key, epoch, i);
}
__device__ void check(const KernelEnd& in, std::size_t begin, std::size_t end, std::uint64_t epoch,
                      Findings& findings) {
  std::uint64_t wrong = 0;
  for (std::size_t i = begin + linear_thread(); i < end; i += all_threads()) {
    if (in.buffer[i] != expected(in.key, epoch, i)) ++wrong;
    in.buffer[i] = std::byte{0xee};
  }
  add(findings.wrong, wrong);
  if (linear_thread() == 0) add(findings.checked, 1);
}
// Words of four bytes, as long as they are whole.
__device__ void check_in_place(const DeviceReceiver& receive, const KernelEnd& in,
                               std::uint64_t epoch, Findings& findings) {
  std::uint64_t wrong = 0;
  for (std::size_t i = receive.begin() / 4 + linear_thread(); i < receive.end() / 4;
       i += all_threads()) {
    std::uint32_t word = 0;
    while (!receive.peek(i, word)) {
    }
    for (unsigned byte = 0; byte < 4; ++byte)
      if (static_cast<std::byte>(word >> (8 * byte)) != expected(in.key, epoch, 4 * i + byte))
        ++wrong;
  }
  add(findings.wrong, wrong);
  if (linear_thread() == 0) add(findings.checked, 1);
}

__device__ bool receive_by(Way way, DeviceReceiver& receive, const KernelEnd& in,
                           std::uint64_t epoch, Findings& findings) {
  if (way == Way::in_place && !receive.wait_in_place()) return false;
  if (way == Way::peek || way == Way::in_place) {
    check_in_place(receive, in, epoch, findings);
    return receive.done();
  }
  if (way == Way::look)
    while (!receive.wait_for(50)) {
    }
  else if (way == Way::poll)
    while (!receive.arrived()) {
    }
  if (way != Way::look && !receive.wait()) return false;
  check(in, receive.begin(), receive.end(), epoch, findings);
  return true;
}

__global__ void __launch_bounds__(512) exchange(const __grid_constant__ Exchanges what, Way way) {
  DeviceSender send(what.out.handle, blockIdx.x, gridDim.x);
  DeviceReceiver receive(what.in.handle, blockIdx.x, gridDim.x);
  bool good = true;
  for (std::uint64_t i = 0; i < what.epochs && good; ++i) {
    const std::uint64_t epoch = what.first_epoch + i;
    if (!what.leads) good = receive_by(way, receive, what.in, epoch, *what.findings);
    fill(what.out, send.begin(), send.end(), epoch);
    good = good && send.start();
    if (what.leads) good = good && receive_by(way, receive, what.in, epoch, *what.findings);
    good = good && send.wait();
  }
  if (!good && linear_thread() == 0) add(what.findings->refused, 1);
}

__global__ void start(const __grid_constant__ KernelEnd out, std::uint64_t epoch,
                      Findings* findings) {
  DeviceSender send(out.handle, blockIdx.x, gridDim.x);
  fill(out, send.begin(), send.end(), epoch);
  if (!send.start() && linear_thread() == 0) add(findings->refused, 1);
}

__global__ void wait(const __grid_constant__ KernelEnd in, std::uint64_t epoch,
                     Findings* findings) {
  DeviceReceiver receive(in.handle, blockIdx.x, gridDim.x);
  if (receive.wait())
    check(in, receive.begin(), receive.end(), epoch, *findings);
  else if (linear_thread() == 0)
    add(findings->refused, 1);
}

__global__ void send_wait(const __grid_constant__ KernelEnd out, Findings* findings) {
  DeviceSender send(out.handle);
  if (!send.wait() && linear_thread() == 0) add(findings->refused, 1);
}

__global__ void misuse(const __grid_constant__ KernelEnd side, Misuse misuse, Findings* findings) {
  bool good = true;
  if (misuse == Misuse::wait_late) {
    if (blockIdx.x + 1 < gridDim.x) return;
    good = DeviceReceiver(side.handle).wait();
  } else {
    if (blockIdx.x != 0) return;
    DeviceSender send(side.handle);
    good = misuse == Misuse::start_twice ? send.start() && send.start() : send.wait();
  }
  if (!good && linear_thread() == 0) add(findings->refused, 1);
}

__global__ void fill_all(const __grid_constant__ KernelEnd out, std::size_t bytes,
                         std::uint64_t epoch) {
  fill(out, 0, bytes, epoch);
}
__global__ void check_all(const __grid_constant__ KernelEnd in, std::size_t bytes,
                          std::uint64_t epoch, Findings* findings) {
  check(in, 0, bytes, epoch, *findings);
}

}  // namespace

cudaError_t enqueue_exchanges(cudaStream_t stream, const Exchanges& exchanges, Way way,
                              dim3 threads, unsigned blocks) {
  exchange<<<blocks, threads, 0, stream>>>(exchanges, way);
  return cudaGetLastError();
}
void enqueue_start(cudaStream_t stream, const KernelEnd& out, std::uint64_t epoch, unsigned blocks,
                   Findings* findings) {
  start<<<blocks, 256, 0, stream>>>(out, epoch, findings);
}
void enqueue_wait(cudaStream_t stream, const KernelEnd& in, std::uint64_t epoch, unsigned blocks,
                  Findings* findings) {
  wait<<<blocks, 256, 0, stream>>>(in, epoch, findings);
}
void enqueue_send_wait(cudaStream_t stream, const KernelEnd& out, Findings* findings) {
  send_wait<<<1, 64, 0, stream>>>(out, findings);
}
void enqueue_fill(cudaStream_t stream, const KernelEnd& out, std::size_t bytes,
                  std::uint64_t epoch) {
  fill_all<<<1, 512, 0, stream>>>(out, bytes, epoch);
}
void enqueue_check(cudaStream_t stream, const KernelEnd& in, std::size_t bytes, std::uint64_t epoch,
                   Findings* findings) {
  check_all<<<1, 512, 0, stream>>>(in, bytes, epoch, findings);
}
void enqueue_misuse(cudaStream_t stream, const KernelEnd& side, Misuse what, Findings* findings) {
  misuse<<<4, 64, 0, stream>>>(side, what, findings);
}
cudaError_t wait_blocks_of_exchanges(int threads, int* blocks) {
  return PST_Device_wait_blocks(exchange, threads, 0, blocks);
}

void load_request_kernels() {
  cudaFuncAttributes attributes{};
  for (const void* const kernel :
       {reinterpret_cast<const void*>(&exchange), reinterpret_cast<const void*>(&start),
        reinterpret_cast<const void*>(&wait), reinterpret_cast<const void*>(&send_wait),
        reinterpret_cast<const void*>(&misuse), reinterpret_cast<const void*>(&fill_all),
        reinterpret_cast<const void*>(&check_all)})
    (void)cudaFuncGetAttributes(&attributes, kernel);
}

}  // namespace penstock::test
