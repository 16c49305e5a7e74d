// SPDX-License-Identifier: Apache-2.0
#include "halo/cuda/steps.hpp"

#include "halo/cells.hpp"
#include "halo/steps.hpp"
#include "support/cuda/expect.hpp"

namespace penstock::test {

// Nothing is under way on the cells then: the tests have synchronised. The copy may return before
// its bytes have arrived.
void upload(std::byte* device, const void* host, std::size_t bytes) {
  EXPECT_CUDA(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
  EXPECT_CUDA(cudaDeviceSynchronize());
}

void download(void* host, const std::byte* device, std::size_t bytes) {
  EXPECT_CUDA(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost));
}

StepCounts* make_counts() {
  void* memory = nullptr;
  EXPECT_CUDA(cudaHostAlloc(&memory, sizeof(StepCounts), cudaHostAllocMapped));
  load_step_kernels();
  return new (memory) StepCounts{};
}

void free_counts(StepCounts* counts) {
  EXPECT_CUDA(cudaFreeHost(counts));
}

void enqueue_write(Stream stream, const Steps& steps) {
  launch_write(stream, steps);
}

void enqueue_step(Stream stream, const Steps& steps) {
  launch_check(stream, steps);
  launch_count(stream, steps.counts);
  launch_write(stream, steps);
}

}  // namespace penstock::test
