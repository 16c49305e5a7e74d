// SPDX-License-Identifier: Apache-2.0
// One end of a sequence of messages, in memory of any kind, on a queue of either type. What it
// writes and checks is work of its stream: kernels where the memory is a device's, functions of the
// host elsewhere.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <gpu_runtime.hpp>
#include <mutex>
#include <string>

#include "cuda/memory_kinds.hpp"
#include "penstock/penstock.h"
#include "support/cuda/device.hpp"
#include "support/cuda/kernels.hpp"

namespace penstock::test {

// A stream of either type with a queue over it.
class AnyLane {
 public:
  explicit AnyLane(PST_Queue_type type);
  ~AnyLane();
  AnyLane(const AnyLane&) = delete;
  AnyLane& operator=(const AnyLane&) = delete;

  PST_Queue queue() const { return queue_; }
  bool on_cuda() const { return type_ == queue_type; }
  cudaStream_t stream() const { return cuda_; }
  void launch_on_host(void (*function)(void*), void* argument);
  void finish();  // PST_Queue_wait, expected to succeed

 private:
  PST_Queue_type type_;
  cudaStream_t cuda_ = nullptr;
  PST_Stream host_ = PST_STREAM_NULL;
  PST_Queue queue_ = PST_QUEUE_NULL;
};

class MessageEnd {
 public:
  struct Options {
    Allocation kind = Allocation::device;
    std::size_t bytes = 8;
    bool sends = false;
    std::uint64_t key = 1;
    std::size_t shift = 0;
    bool buffered = false;
  };
  MessageEnd(const Options& options, int peer, int tag);
  ~MessageEnd();
  MessageEnd(const MessageEnd&) = delete;
  MessageEnd& operator=(const MessageEnd&) = delete;

  MPI_Request& request() { return request_; }
  // Writes the message, or clears the buffer; then the start.
  void enqueue_start(AnyLane& lane);
  // The wait; then overwrites the buffer, or checks what has come and what lies around.
  void enqueue_wait(AnyLane& lane);
  void expect_good(std::uint64_t epochs) const;

 private:
  void prepare(AnyLane& lane);
  void conclude(AnyLane& lane);
  void set_all(std::uint8_t value);
  static void fill_on_host(void* end);
  static void clear_on_host(void* end);
  static void scribble_on_host(void* end);
  static void check_on_host(void* end);

  Options options_;
  Block block_;
  std::byte* data_;
  Counts* counts_ = nullptr;
  mutable std::mutex mutex_;
  std::string complaint_;  // of a check on the host
  MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace penstock::test
