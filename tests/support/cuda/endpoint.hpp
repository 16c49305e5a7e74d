// SPDX-License-Identifier: Apache-2.0
// The streams, buffers and ends of support/endpoint.hpp on CUDA streams, so that one suite runs on both devices.
#pragma once

#include <cuda_runtime_api.h>
#include <mpi.h>

#include <cstddef>
#include <cstdint>

#include "penstock/penstock.h"
#include "support/cuda/kernels.hpp"

namespace penstock::test {

// A stream with one queue over it.
class Lane {
 public:
  Lane();
  explicit Lane(cudaStream_t stream);  // of the caller's
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  PST_Queue queue() const { return queue_; }
  cudaStream_t stream() const { return stream_; }
  // A function of Sender and Receiver enqueues its kernels; any other one runs on the host, in the stream's order.
  void launch(void (*function)(void*), void* argument);
  void start(MPI_Request& request);
  void wait(MPI_Request& request);
  void finish();       // PST_Queue_wait, expected to succeed
  void synchronize();  // the stream alone

 private:
  cudaStream_t stream_ = nullptr;
  bool owned_ = true;
  PST_Queue queue_ = PST_QUEUE_NULL;
};

// cudaMalloc, which other processes can map; stream-ordered, which they cannot.
enum class Memory { ordinary, allocated };

class Buffer {
 public:
  Buffer(std::size_t bytes, Memory memory, std::size_t shift = 0);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  void enqueue_check_guards(cudaStream_t stream, Tally* tally) const;

 private:
  std::size_t bytes_;
  Memory memory_;
  std::byte* base_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t behind_ = 0;
};

enum class Kind { standard, synchronous, ready, buffered };
const char* name(Kind kind);
const char* name(Memory memory);

class Sender {
 public:
  Sender(std::size_t bytes, Memory memory, std::uint64_t key, std::size_t shift = 0);
  ~Sender();

  void init(Kind kind, int destination, int tag, MPI_Comm comm = MPI_COMM_WORLD);
  void free();
  MPI_Request& request() { return request_; }
  Buffer& buffer() { return buffer_; }

  static void fill(void* sender);
  static void scribble(void* sender);
  void enqueue_start(Lane& lane);  // fill, start
  void enqueue_wait(Lane& lane);   // wait, scribble

 private:
  Buffer buffer_;
  std::uint64_t key_;
  Tally* tally_ = nullptr;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

class Receiver {
 public:
  Receiver(std::size_t bytes, Memory memory, std::uint64_t key, std::size_t shift = 0, std::size_t extra = 0);
  ~Receiver();

  void init(int source, int tag, MPI_Comm comm = MPI_COMM_WORLD);
  void free();
  MPI_Request& request() { return request_; }
  Buffer& buffer() { return buffer_; }
  std::uint64_t checked() const;

  static void clear(void* receiver);
  static void check_clear(void* receiver);
  static void check(void* receiver);
  void enqueue_start(Lane& lane);  // clear, start
  void enqueue_wait(Lane& lane);   // wait, check
  void expect_good(std::uint64_t epochs) const;

 private:
  std::size_t bytes_;
  Buffer buffer_;
  std::uint64_t key_;
  Tally* tally_ = nullptr;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

std::uint64_t sequence_key(int source, int destination, int tag);
void enqueue_delay(Lane& lane, std::uintptr_t microseconds);

// Makes this rank's device the current one: ranks share the devices in turn. False, with the reason, without one.
bool choose_device(const char*& why_not);

}  // namespace penstock::test
