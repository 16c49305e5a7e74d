// SPDX-License-Identifier: Apache-2.0
// What PENSTOCK_TRACE records: of a queue the calls of the host that enqueue on it, and what
// becomes of them on its stream; of a host stream the program's functions that run there. Recording
// stores into memory that was allocated beforehand; a separate thread writes the file
// (base/trace_file.hpp).
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/sleeper.hpp"

namespace penstock::base::trace {

// The same in all processes of a host.
using Clock = std::chrono::steady_clock;

// One half of a matched pair, or of a window's pair: then `sends` says that it is the origin; or a
// collective. Without a peer and a name it stands for all enqueued messages of a queue.
struct TracedMessage {
  bool sends = false;
  int peer = -1;
  int tag = -1;
  std::uint64_t bytes = 0;
  std::int64_t window = -1;          // its number; -1: a message
  const char* collective = nullptr;  // "allreduce"; null: it is none
  std::uint64_t number = 0;          // of the collective, among those of its communicator
};

enum class TraceKind : std::uint8_t {
  start_call,  // on the host: a start is enqueued
  wait_call,
  trigger,   // on the stream: the start's step
  transfer,  // from the trigger to the end of the wait
  wait,      // from the wait's first poll to its end
  function   // of the program, on a host stream
};

struct Event {
  TraceKind kind{};
  TracedMessage message;
  std::uint64_t epoch = 0;  // of a function: its address
  Clock::time_point begin, end;
};

// A ring of events with one recording thread at a time and one writer. An event that finds it full
// is dropped and counted.
class Track {
 public:
  // `capacity` is a power of two; `writer` is woken when half of it has filled up.
  Track(std::size_t capacity, Sleeper& writer) : writer_(writer), events_(capacity) {}

  void record(const Event& event) noexcept {
    const std::uint64_t head = head_.load(std::memory_order_relaxed);
    // Acquire: the writer has read what this event overwrites.
    if (head - tail_.load(std::memory_order_acquire) == events_.size()) {
      dropped_.store(dropped_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      return;
    }
    events_[head & (events_.size() - 1)] = event;
    head_.store(head + 1, std::memory_order_release);  // the event, before the writer reads it
    if ((head + 1) % (events_.size() / 2) == 0) writer_.wake();
  }

  // The writer's side.
  bool half_full() const noexcept { return waiting() >= events_.size() / 2; }
  std::uint64_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }
  template <class Use>
  void take_all(Use&& use) {
    std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    for (const std::uint64_t head = head_.load(std::memory_order_acquire); tail != head; ++tail)
      use(events_[tail & (events_.size() - 1)]);
    tail_.store(tail, std::memory_order_release);
  }

 private:
  std::uint64_t waiting() const noexcept {
    return head_.load(std::memory_order_acquire) - tail_.load(std::memory_order_relaxed);
  }

  // The recorder's line, then the writer's.
  alignas(64) std::atomic<std::uint64_t> head_{0};
  Sleeper& writer_;
  std::atomic<std::uint64_t> dropped_{0};
  std::vector<Event> events_;
  alignas(64) std::atomic<std::uint64_t> tail_{0};
};

// The tracks of a queue or a stream.
struct OwnerTrace {
  OwnerTrace(std::uint64_t owner, Sleeper& sleeper) : number(owner), writer(sleeper) {}
  virtual ~OwnerTrace() = default;

  // The owner records no more. After the store the writer may delete this object, so nothing of it
  // is read any more.
  void close() noexcept {
    Sleeper& awaiting = writer;
    closed.store(true, std::memory_order_release);
    awaiting.wake();
  }

  const std::uint64_t number;
  Sleeper& writer;
  std::atomic<bool> closed{false};
  bool announced = false;  // the writer's own: its names are in the file
  std::vector<Track*> tracks;
};

struct QueueTrace final : OwnerTrace {
  QueueTrace(std::uint64_t queue, std::uint64_t stream_number, std::size_t capacity,
             Sleeper& sleeper)
      : OwnerTrace(queue, sleeper),
        host_stream(stream_number),
        calls(capacity, sleeper),
        stream(capacity, sleeper) {
    tracks = {&calls, &stream};
  }

  const std::uint64_t host_stream;  // 0: it is over another stream
  Track calls;
  Track stream;
};

struct StreamTrace final : OwnerTrace {
  StreamTrace(std::uint64_t stream, std::size_t capacity, Sleeper& sleeper)
      : OwnerTrace(stream, sleeper), functions(capacity, sleeper) {
    tracks = {&functions};
  }

  Track functions;
};

}  // namespace penstock::base::trace
