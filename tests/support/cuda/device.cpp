// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>

#include "support/cuda/expect.hpp"
#include "support/cuda/kernels.hpp"
#include "support/endpoint.hpp"
#include "support/environment.hpp"

namespace penstock::test {
namespace {

// Of the launch() that calls a function of Sender or Receiver.
thread_local cudaStream_t current_stream = nullptr;

bool enqueues(void (*function)(void*)) {
  for (const auto known : {&Sender::fill, &Sender::scribble, &Sender::check_guards,
                           &Receiver::clear, &Receiver::check_clear, &Receiver::check})
    if (known == function) return true;
  return false;
}

}  // namespace

bool choose_device(const char*& why_not) {
  int devices = 0;
  const cudaError_t code = cudaGetDeviceCount(&devices);
  why_not = code != cudaSuccess ? cudaGetErrorString(code) : devices == 0 ? "no device" : nullptr;
  if (why_not != nullptr) return false;
  EXPECT_CUDA(cudaSetDevice(rank() % devices));
  load_kernels();
  return true;
}

Stream make_stream() {
  cudaStream_t stream = nullptr;
  EXPECT_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}

void free_stream(Stream stream) {
  EXPECT_CUDA(cudaStreamDestroy(stream));
}

void launch(Stream stream, void (*function)(void*), void* argument) {
  if (enqueues(function)) {
    current_stream = stream;
    function(argument);
  } else {
    EXPECT_CUDA(cudaLaunchHostFunc(stream, function, argument));
  }
}

void synchronize(Stream stream) {
  EXPECT_CUDA(cudaStreamSynchronize(stream));
}

void enqueue_delay(Stream stream, std::uintptr_t microseconds) {
  enqueue_spin(stream, microseconds);
}

// cudaMalloc, which other processes can map; stream-ordered, which they cannot; the host's.
const char* name(Memory memory) {
  switch (memory) {
    case Memory::ordinary:
      return "cudaMalloc";
    case Memory::allocated:
      return "cudaMallocAsync";
    case Memory::pinned:
      return "cudaHostAlloc";
  }
  return "?";
}

std::byte* allocate(Memory memory, std::size_t bytes, std::byte value) {
  void* address = nullptr;
  switch (memory) {
    case Memory::ordinary:
      EXPECT_CUDA(cudaMalloc(&address, bytes));
      break;
    case Memory::allocated:
      EXPECT_CUDA(cudaMallocAsync(&address, bytes, cudaStreamPerThread));
      break;
    case Memory::pinned:
      EXPECT_CUDA(cudaHostAlloc(&address, bytes, cudaHostAllocMapped));
      break;
  }
  enqueue_set(cudaStreamPerThread, static_cast<std::byte*>(address), bytes,
              std::to_integer<std::uint8_t>(value));
  EXPECT_CUDA(cudaStreamSynchronize(cudaStreamPerThread));
  return static_cast<std::byte*>(address);
}

void free(Memory memory, std::byte* address) {
  switch (memory) {
    case Memory::ordinary:
      EXPECT_CUDA(cudaFree(address));
      break;
    case Memory::allocated:
      EXPECT_CUDA(cudaFreeAsync(address, cudaStreamPerThread));
      break;
    case Memory::pinned:
      EXPECT_CUDA(cudaFreeHost(address));
      break;
  }
}

void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  EXPECT_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, cudaStreamPerThread));
  EXPECT_CUDA(cudaStreamSynchronize(cudaStreamPerThread));
}

std::byte* make_mirror(std::byte*, std::size_t bytes) {
  void* mirror = nullptr;
  EXPECT_CUDA(cudaHostAlloc(&mirror, bytes, cudaHostAllocDefault));
  std::memset(mirror, 0, bytes);
  return static_cast<std::byte*>(mirror);
}

void free_mirror(std::byte* mirror, std::byte*) {
  EXPECT_CUDA(cudaFreeHost(mirror));
}

void enqueue_copy(Stream stream, std::byte* to, const std::byte* from, std::size_t bytes) {
  EXPECT_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream));
}

void enqueue_transfer(Stream stream, Transfer& transfer) {
  if (transfer.bytes > 0) enqueue_copy(stream, transfer.to, transfer.from, transfer.bytes);
}

int device_of(int rank) {
  int devices = 1;
  EXPECT_CUDA(cudaGetDeviceCount(&devices));
  return rank % devices;
}

bool served(Kind kind) {
  return kind != Kind::buffered;
}

Tally::Tally() {
  void* memory = nullptr;
  EXPECT_CUDA(cudaHostAlloc(&memory, sizeof(Counts), cudaHostAllocMapped));
  counts_ = static_cast<Counts*>(memory);
  *counts_ = {};
}

Tally::~Tally() {
  EXPECT_CUDA(cudaFreeHost(counts_));
}

std::uint64_t Tally::epochs() const {
  return std::atomic_ref(counts_->epochs).load(std::memory_order_acquire);
}

std::string Tally::complaint() const {
  if (std::atomic_ref(counts_->complaints).load(std::memory_order_acquire) == 0) return "";
  return std::to_string(counts_->complaints) + " wrong bytes; the first: byte " +
         std::to_string(counts_->first_byte) + " of " + std::to_string(counts_->first_bytes) +
         " after " + std::to_string(counts_->first_epoch) + " epochs";
}

void Tally::set(std::byte* data, std::size_t bytes, std::byte value) {
  enqueue_set(current_stream, data, bytes, std::to_integer<std::uint8_t>(value));
}

void Tally::fill(std::byte* data, std::size_t bytes, std::uint64_t key) {
  enqueue_fill(current_stream, data, bytes, key, counts_);
}

void Tally::check_value(const char*, const std::byte* data, std::size_t bytes, std::byte value) {
  if (bytes > 0)
    enqueue_check_value(current_stream, data, bytes, std::to_integer<std::uint8_t>(value), counts_);
}

void Tally::check(const std::byte* data, std::size_t bytes, std::uint64_t key) {
  enqueue_check(current_stream, data, bytes, key, counts_);
}

void Tally::count() {
  enqueue_count(current_stream, counts_);
}

}  // namespace penstock::test
