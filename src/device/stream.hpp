// SPDX-License-Identifier: Apache-2.0
// The verbs that every kind of stream offers to the layers below, and nothing of their vendors.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

namespace penstock::device {

enum class StreamKind : std::uint8_t { host, cuda };  // cuda: a GPU's, with HIP too

// A point in a stream's order that other streams can wait for. Numbers only grow; each user counts its own.
struct Marker {
  std::atomic<std::uint64_t> reached{0};  // host streams
  void* event = nullptr;                  // GPU streams: what the last record left, for the await right after it
  std::uint64_t capture = 0;              // and the capture in which it was
};

class Stream {
 public:
  virtual ~Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  StreamKind kind() const noexcept { return kind_; }

  // Stream order: `marker.reached` becomes at least `number` when everything enqueued before has ended. Does not block.
  virtual void record(Marker& marker, std::uint64_t number) = 0;
  // Stream order: what is enqueued afterwards runs only when `marker` has reached `number`. Does not block the caller.
  virtual void await(Marker& marker, std::uint64_t number) = 0;
  // Blocks the caller until everything enqueued before the call has ended. Not while the stream is being captured.
  // While it waits it calls `meanwhile` (if any) every 100 us or so from the calling thread.
  virtual void synchronize(const std::function<void()>& meanwhile) = 0;
  // The end of an enqueue call: work of several requests that was gathered goes to the stream now.
  virtual void flush() noexcept {}
  // The queue over this stream goes: nobody is told about failures of its work any more.
  virtual void leave() noexcept {}
  // The graph capture that the stream is in, 0 for none. Work of a capture runs when its graph is launched.
  virtual std::uint64_t capture() const { return 0; }
  // True when everything enqueued has ended. Does not block.
  virtual bool idle() const = 0;
  // True on the thread that runs the stream's own work, if it has one: it must not wait for the stream.
  virtual bool on_worker() const noexcept = 0;

 protected:
  explicit Stream(StreamKind kind) noexcept : kind_(kind) {}

 private:
  StreamKind kind_;
};

}  // namespace penstock::device
