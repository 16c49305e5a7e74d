// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <penstock/penstock.hpp>
#include <span>

#include "batch.hpp"
#include "support/stream_clock.hpp"

namespace penstock::bench {

// A benchmark's program is written once, as a template over one of these engines, so that all sides
// of a comparison make the same calls in the same order. Work handed to run() must live until
// finish() has returned.

// The host drives plain MPI.
class MpiEngine {
 public:
  static constexpr Calls calls = Calls::persistent;
  // Nothing is ahead of the caller: what it started is started.
  void settle() {}
  void begin_program() {}
  void start(Batch& batch) {
    const std::span<MPI_Request> requests = batch.requests();
    if (requests.size() == 1) {
      MPI_Start(requests.data());
    } else {
      MPI_Startall(static_cast<int>(requests.size()), requests.data());
    }
  }
  void wait(Batch& batch) {
    const std::span<MPI_Request> requests = batch.requests();
    if (requests.size() == 1) {
      MPI_Wait(requests.data(), MPI_STATUS_IGNORE);
    } else {
      MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    }
  }
  template <class Callable>
  void run(Callable& work) {
    work();
  }
  void mark_begin() { begin_us_ = tool::now_us(); }
  void mark_end() { end_us_ = tool::now_us(); }
  // MPI does not let the program begin later than it is called: the barrier comes before it.
  static constexpr bool enqueues_ahead = false;
  void finish() {}
  double elapsed_us() const { return end_us_ - begin_us_; }

 private:
  double begin_us_ = 0;
  double end_us_ = 0;
};

// The same by MPI_Isend and MPI_Irecv, made anew each time.
class NonblockingEngine : public MpiEngine {
 public:
  static constexpr Calls calls = Calls::nonblocking;
  void start(Batch& batch) { batch.post(); }
};

// The program is enqueued behind a gate, whole; the stream runs it while the host sleeps.
class StreamEngine {
 public:
  static constexpr Calls calls = Calls::persistent;
  StreamEngine() : queue_(stream_) {}

  // Waits until the stream has reached everything enqueued, which at this point is starts only.
  void settle() { stream_.synchronize(); }
  void begin_program() { gate_.enqueue(stream_); }
  void start(Batch& batch) { queue_.start(batch.requests()); }
  void wait(Batch& batch) { queue_.wait(batch.requests()); }
  template <class Callable>
  void run(Callable& work) {
    stream_.launch(std::ref(work));
  }
  void mark_begin() { begin_.enqueue(stream_); }
  void mark_end() { end_.enqueue(stream_); }
  static constexpr bool enqueues_ahead = true;
  void finish() {
    gate_.open();
    queue_.synchronize();
  }
  double elapsed_us() const { return end_.us() - begin_.us(); }

  StreamView stream() const { return stream_; }
  QueueView queue() const { return queue_; }

 private:
  Stream stream_;
  Queue queue_;
  tool::Gate gate_;
  tool::Stamp begin_;
  tool::Stamp end_;
};

// One round of a program on both ranks. `prepare` starts what must be started before either begins,
// `program` is what is timed between its marks. Returns the time on this rank; `call_us` becomes
// what a program that is enqueued ahead cost its caller.
template <class Engine, class Prepare, class Program>
double run_round(Engine& engine, Prepare&& prepare, Program&& program, double* call_us = nullptr) {
  prepare();
  engine.settle();
  engine.begin_program();
  const double begin = tool::now_us();
  if constexpr (Engine::enqueues_ahead) program();
  if (call_us != nullptr) *call_us = tool::now_us() - begin;
  MPI_Barrier(MPI_COMM_WORLD);
  if constexpr (!Engine::enqueues_ahead) program();
  engine.finish();
  return engine.elapsed_us();
}

}  // namespace penstock::bench
