// SPDX-License-Identifier: Apache-2.0
// A stream with a queue for messages that MPI matches, and buffers whose bytes tell which message
// they hold. Ranks talk to partner(): a last odd one to itself, which these tests allow for.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "penstock/penstock.h"
#include "support/device.hpp"
#include "support/environment.hpp"
#include "support/pattern.hpp"

namespace penstock::test {

using Bytes = std::vector<std::byte>;

class EnqueueLane {
 public:
  explicit EnqueueLane(MPI_Comm comm = MPI_COMM_WORLD) {
    EXPECT_PST(PST_Queue_create(comm, stream_, &queue_));
  }
  ~EnqueueLane() {
    if (queue_ != PST_QUEUE_NULL) PST_Queue_free(&queue_);  // it may have failed
    free_stream(stream_);
  }
  EnqueueLane(const EnqueueLane&) = delete;
  EnqueueLane& operator=(const EnqueueLane&) = delete;

  PST_Queue queue() const { return queue_; }
  Stream stream() const { return stream_; }
  void send(const Bytes& message, int to, int tag, MPI_Request* request = nullptr) {
    EXPECT_PST(PST_Enqueue_send(message.data(), static_cast<int>(message.size()), MPI_BYTE, to, tag,
                                MPI_COMM_NULL, queue_, request));
  }
  void receive(Bytes& message, int from, int tag, MPI_Request* request = nullptr) {
    EXPECT_PST(PST_Enqueue_recv(message.data(), static_cast<int>(message.size()), MPI_BYTE, from,
                                tag, MPI_COMM_NULL, queue_, request));
  }
  void trigger() { EXPECT_PST(PST_Enqueue_trigger(queue_)); }
  void wait() { EXPECT_PST(PST_Enqueue_wait_outstanding(queue_)); }
  void finish() { EXPECT_PST(PST_Queue_wait(queue_)); }
  void launch(void (*function)(void*), void* argument) {
    test::launch(stream_, function, argument);
  }
  // Until the stream has run dry, whatever has become of the queue.
  void run_dry() { test::synchronize(stream_); }
  int free_queue() { return PST_Queue_free(&queue_); }

 private:
  const Stream stream_ = make_stream();
  PST_Queue queue_ = PST_QUEUE_NULL;
};

// While it lives, errors of calls are returned.
class ErrorsReturn {
 public:
  ErrorsReturn() {
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before_);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  }
  ~ErrorsReturn() {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, before_);
    MPI_Errhandler_free(&before_);
  }
  ErrorsReturn(const ErrorsReturn&) = delete;
  ErrorsReturn& operator=(const ErrorsReturn&) = delete;

 private:
  MPI_Errhandler before_;
};

inline Bytes message(std::size_t bytes, int from, std::uint64_t number) {
  Bytes result(bytes);
  fill_pattern(result.data(), bytes, seed() + static_cast<std::uint64_t>(from), number);
  return result;
}

inline void expect_message(const Bytes& received, int from, std::uint64_t number) {
  EXPECT_EQ(check_pattern(received.data(), received.size(),
                          seed() + static_cast<std::uint64_t>(from), number),
            "")
      << "message " << number << " of " << received.size() << " bytes from rank " << from;
}

inline void expect_status(const MPI_Status& status, int source, int tag, std::size_t bytes) {
  EXPECT_EQ(status.MPI_SOURCE, source);
  EXPECT_EQ(status.MPI_TAG, tag);
  int count = -1;
  MPI_Get_count(&status, MPI_BYTE, &count);
  EXPECT_EQ(count, static_cast<int>(bytes));
  int cancelled = -1;
  MPI_Test_cancelled(&status, &cancelled);
  EXPECT_EQ(cancelled, 0);
}

inline std::vector<std::size_t> enqueued_sizes() {
  return {0, 1, 8, 4096, 70000, (std::size_t{1} << 20) + 3};
}

}  // namespace penstock::test
