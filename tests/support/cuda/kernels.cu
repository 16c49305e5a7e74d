// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/kernels.hpp"

namespace penstock::test {
namespace {

constexpr unsigned threads = 256;

__device__ std::uint64_t pattern_word(std::uint64_t key, std::uint64_t epoch, std::uint64_t index) {
  const std::uint64_t base = (key * 0x9E3779B97F4A7C15u) ^ (epoch * 0xC2B2AE3D27D4EB4Fu);
  const std::uint64_t mixed = (base + index * 0x9E3779B97F4A7C15u) * 0xD6E8FEB86659FD93u;
  return mixed ^ (mixed >> 32);
}

__device__ std::uint8_t pattern_byte(std::uint64_t key, std::uint64_t epoch, std::uint64_t at) {
  return static_cast<std::uint8_t>(pattern_word(key, epoch, at / 8) >> (8 * (at % 8)));
}

__device__ void complain(Counts* counts, std::uint64_t byte, std::uint64_t bytes) {
  if (atomicAdd_system(reinterpret_cast<unsigned long long*>(&counts->complaints), 1ull) != 0)
    return;
  counts->first_epoch = counts->epochs;
  counts->first_byte = byte;
  counts->first_bytes = bytes;
}

__global__ void fill(std::byte* data, std::size_t bytes, std::uint64_t key, const Counts* counts) {
  const std::uint64_t epoch = counts->epochs + 1;
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < bytes;
       i += gridDim.x * blockDim.x)
    data[i] = static_cast<std::byte>(pattern_byte(key, epoch, i));
}

__global__ void check(const std::byte* data, std::size_t bytes, std::uint64_t key, Counts* counts) {
  const std::uint64_t epoch = counts->epochs + 1;
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < bytes;
       i += gridDim.x * blockDim.x)
    if (static_cast<std::uint8_t>(data[i]) != pattern_byte(key, epoch, i))
      complain(counts, i, bytes);
}

__global__ void check_value(const std::byte* data, std::size_t bytes, std::uint8_t value,
                            Counts* counts) {
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < bytes;
       i += gridDim.x * blockDim.x)
    if (static_cast<std::uint8_t>(data[i]) != value) complain(counts, i, bytes);
}

__global__ void count(Counts* counts) {
  ++counts->epochs;
  __threadfence_system();
}

__global__ void set(std::byte* data, std::size_t bytes, std::uint8_t value) {
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < bytes;
       i += gridDim.x * blockDim.x)
    data[i] = static_cast<std::byte>(value);
}

__global__ void spin(std::uint64_t nanoseconds) {
  const std::uint64_t begin = vendor::nanoseconds();
  while (vendor::nanoseconds() - begin < nanoseconds) {
  }
}

__global__ void crowd(std::uint64_t most_nanoseconds, std::uint64_t salt) {
  const std::uint64_t begin = vendor::nanoseconds();
  const std::uint64_t mine = pattern_word(salt, 1, blockIdx.x) % most_nanoseconds;
  while (vendor::nanoseconds() - begin < mine) {
  }
}

// Launched while the kernel before it runs, it has its places until that one has ended.
__global__ void dependent() {
  vendor::await_predecessor();
}

__global__ void never_loaded(std::uint64_t nanoseconds) {
  __nanosleep(static_cast<unsigned>(nanoseconds));
}

unsigned blocks_for(std::size_t bytes) {
  const std::size_t blocks = (bytes + threads * 16 - 1) / (threads * 16);
  return static_cast<unsigned>(blocks < 1 ? 1 : blocks > 64 ? 64 : blocks);
}

}  // namespace

void enqueue_fill(cudaStream_t stream, std::byte* data, std::size_t bytes, std::uint64_t key,
                  const Counts* counts) {
  fill<<<blocks_for(bytes), threads, 0, stream>>>(data, bytes, key, counts);
}

void enqueue_check(cudaStream_t stream, const std::byte* data, std::size_t bytes, std::uint64_t key,
                   Counts* counts) {
  check<<<blocks_for(bytes), threads, 0, stream>>>(data, bytes, key, counts);
}

void enqueue_check_value(cudaStream_t stream, const std::byte* data, std::size_t bytes,
                         std::uint8_t value, Counts* counts) {
  check_value<<<blocks_for(bytes), threads, 0, stream>>>(data, bytes, value, counts);
}

void enqueue_count(cudaStream_t stream, Counts* counts) {
  count<<<1, 1, 0, stream>>>(counts);
}

void enqueue_set(cudaStream_t stream, std::byte* data, std::size_t bytes, std::uint8_t value) {
  set<<<blocks_for(bytes), threads, 0, stream>>>(data, bytes, value);
}

void enqueue_spin(cudaStream_t stream, std::uint64_t microseconds) {
  spin<<<1, 1, 0, stream>>>(microseconds * 1000);
}

void enqueue_crowd(cudaStream_t stream, unsigned blocks, std::uint64_t most_microseconds,
                   std::uint64_t salt) {
  crowd<<<blocks, 1024, 0, stream>>>(most_microseconds * 1000, salt);
}

void enqueue_occupy(cudaStream_t stream, unsigned blocks, std::uint64_t microseconds) {
  spin<<<blocks, 1024, 0, stream>>>(microseconds * 1000);
}

void enqueue_dependent(cudaStream_t stream) {
  constexpr unsigned blocks = 132 * 32 * 2;
#if PENSTOCK_HIP
  dependent<<<blocks, 64, 0, stream>>>();
#else
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = 64;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, dependent);
#endif
}

void enqueue_never_loaded(cudaStream_t stream) {
  never_loaded<<<1, 1, 0, stream>>>(100);
}

void load_kernels() {
  cudaFuncAttributes attributes;
  for (const void* kernel :
       {reinterpret_cast<const void*>(&fill), reinterpret_cast<const void*>(&check),
        reinterpret_cast<const void*>(&check_value), reinterpret_cast<const void*>(&count),
        reinterpret_cast<const void*>(&set), reinterpret_cast<const void*>(&spin),
        reinterpret_cast<const void*>(&crowd), reinterpret_cast<const void*>(&dependent)})
    cudaFuncGetAttributes(&attributes, kernel);
  spin<<<1, 1>>>(0);
  cudaDeviceSynchronize();
}

}  // namespace penstock::test
