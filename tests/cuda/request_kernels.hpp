// SPDX-License-Identifier: Apache-2.0
// Kernels that start requests and wait for them by handles.
#pragma once

#include <penstock/device_request.h>

#include <cstddef>
#include <cstdint>
#include <gpu_runtime.hpp>

namespace penstock::test {

// In pinned memory: what kernels have found.
struct Findings {
  std::uint64_t wrong;    // bytes
  std::uint64_t checked;  // messages, or shares of them
  std::uint64_t refused;  // calls that have returned false
};

struct KernelEnd {
  PST_Device_request handle;
  std::byte* buffer = nullptr;
  std::uint64_t key = 0;
};

struct Exchanges {
  KernelEnd out, in;
  std::uint64_t first_epoch = 1;
  std::uint32_t epochs = 1;
  bool leads = true;  // sends first
  Findings* findings = nullptr;
};

enum class Way {
  wait,     // into the buffer
  look,     // wait_for() until the message is there
  poll,     // arrived() until it is, then wait()
  peek,     // in place, as words come, then done()
  in_place  // in place, when all has come
};

// Each of `blocks` has a share of both messages.
cudaError_t enqueue_exchanges(cudaStream_t stream, const Exchanges& exchanges, Way way,
                              dim3 threads, unsigned blocks);
// Fills the share and starts it, in blocks of which the GPU has places for a part at a time.
void enqueue_start(cudaStream_t stream, const KernelEnd& out, std::uint64_t epoch, unsigned blocks,
                   Findings* findings);
void enqueue_wait(cudaStream_t stream, const KernelEnd& in, std::uint64_t epoch, unsigned blocks,
                  Findings* findings);
void enqueue_send_wait(cudaStream_t stream, const KernelEnd& out, Findings* findings);
void enqueue_fill(cudaStream_t stream, const KernelEnd& out, std::size_t bytes,
                  std::uint64_t epoch);
void enqueue_check(cudaStream_t stream, const KernelEnd& in, std::size_t bytes, std::uint64_t epoch,
                   Findings* findings);
enum class Misuse { start_twice, wait_unstarted, wait_late };
void enqueue_misuse(cudaStream_t stream, const KernelEnd& side, Misuse misuse, Findings* findings);
cudaError_t wait_blocks_of_exchanges(int threads, int* blocks);
void load_request_kernels();  // a first launch may wait for the device

}  // namespace penstock::test
