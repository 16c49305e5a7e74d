// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <mpi.h>

#include <cstring>

#include "common/gpu/check.hpp"
#include "common/gpu/gpu.hpp"

namespace penstock::apps::gpu {

void choose_device() {
  int rank = 0;
  int devices = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const cudaError_t code = cudaGetDeviceCount(&devices);
  if (code != cudaSuccess || devices == 0)
    throw std::runtime_error(
        std::string("--device ") + name_of(DeviceKind::gpu) +
        " needs a GPU: " + (code != cudaSuccess ? cudaGetErrorString(code) : "there is none"));
  CHECK_GPU(cudaSetDevice(rank % devices));
}

Memory allocate(std::size_t bytes) {
  void* memory = nullptr;
  CHECK_GPU(cudaMalloc(&memory, bytes > 0 ? bytes : 1));
  Memory owner(static_cast<std::byte*>(memory), bytes,
               [](std::byte* data) { (void)cudaFree(data); });
  CHECK_GPU(cudaMemset(memory, 0, bytes));
  CHECK_GPU(cudaDeviceSynchronize());
  return owner;
}

Memory allocate_pinned(std::size_t bytes) {
  void* memory = nullptr;
  CHECK_GPU(cudaHostAlloc(&memory, bytes > 0 ? bytes : 1, cudaHostAllocDefault));
  std::memset(memory, 0, bytes);
  return {static_cast<std::byte*>(memory), bytes,
          [](std::byte* data) { (void)cudaFreeHost(data); }};
}

void fetch(void* to, const void* from, std::size_t bytes) {
  CHECK_GPU(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost));
}

void enqueue_copy(void* stream, void* to, const void* from, std::size_t bytes) {
  CHECK_GPU(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, static_cast<cudaStream_t>(stream)));
}

bool mpi_takes_device_memory() {
#if PENSTOCK_HIP
  constexpr const char* query_name = "MPIX_Query_rocm_support";
#else
  constexpr const char* query_name = "MPIX_Query_cuda_support";
#endif
  const auto query = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, query_name));
  return query != nullptr && query() != 0;
}

}  // namespace penstock::apps::gpu
