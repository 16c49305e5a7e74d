// SPDX-License-Identifier: Apache-2.0
// Streams, buffers and the two ends of a message sequence, as the tests use them on every device:
// what an end writes and checks is done in the order of the stream.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "penstock/penstock.h"
#include "support/device.hpp"

namespace penstock::test {

// A stream with one queue over it.
class Lane {
 public:
  Lane();
  explicit Lane(Stream stream);  // of the caller's
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  PST_Queue queue() const { return queue_; }
  Stream stream() const { return stream_; }
  void launch(void (*function)(void*), void* argument) {
    test::launch(stream_, function, argument);
  }
  void start(MPI_Request& request);
  void wait(MPI_Request& request);
  void finish();                                      // PST_Queue_wait, expected to succeed
  void synchronize() { test::synchronize(stream_); }  // the stream alone
  int free_queue() { return PST_Queue_free(&queue_); }

 private:
  Stream stream_{};
  bool owned_ = true;
  PST_Queue queue_ = PST_QUEUE_NULL;
};

// A lane whose queue may have failed by its end.
struct BrokenLane : Lane {
  using Lane::Lane;
  ~BrokenLane() { free_queue(); }
};

inline void enqueue_delay(Lane& lane, std::uintptr_t microseconds) {
  enqueue_delay(lane.stream(), microseconds);
}

// `bytes` bytes at an address `shift` past an aligned one, between two guards.
class Buffer {
 public:
  Buffer(std::size_t bytes, Memory memory, std::size_t shift = 0);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  void check_guards(Tally& tally) const;  // nothing around the buffer has been written

 private:
  std::size_t bytes_;
  Memory memory_;
  std::byte* base_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t behind_ = 0;
};

const char* name(Kind kind);

// The sending end. fill writes the next epoch's message; scribble overwrites it, as a program may
// once the send is complete. Both, and the functions of Receiver, go to a stream by launch().
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
  static void check_guards(void* sender);
  void enqueue_start(Lane& lane);  // fill, start
  void enqueue_wait(Lane& lane);   // wait, scribble
  void expect_good(std::uint64_t epochs) const;

 private:
  Buffer buffer_;
  std::uint64_t key_;
  Tally tally_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

// The receiving end; the buffer is `extra` bytes longer than the message, and these must stay
// untouched. check compares the next epoch's message; the first difference is kept for expect_good.
class Receiver {
 public:
  Receiver(std::size_t bytes, Memory memory, std::uint64_t key, std::size_t shift = 0,
           std::size_t extra = 0);
  ~Receiver();

  void init(int source, int tag, MPI_Comm comm = MPI_COMM_WORLD);
  void free();
  MPI_Request& request() { return request_; }
  Buffer& buffer() { return buffer_; }
  std::uint64_t checked() const { return tally_.epochs(); }

  static void clear(void* receiver);
  static void check_clear(void* receiver);  // nothing has been delivered since clear
  static void check(void* receiver);
  void enqueue_start(Lane& lane);  // clear, start
  void enqueue_wait(Lane& lane);   // wait, check
  void expect_good(std::uint64_t epochs) const;

 private:
  std::size_t bytes_;
  Buffer buffer_;
  std::uint64_t key_;
  Tally tally_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

// A key that both ends of a sequence can compute.
std::uint64_t sequence_key(int source, int destination, int tag);

}  // namespace penstock::test
