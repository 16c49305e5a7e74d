// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <penstock/penstock.hpp>

#include "support/clock.hpp"

namespace penstock::tool {

// Holds a stream back until the host opens it, so that a whole program can be enqueued before any
// of it runs. The stream's worker sleeps at the gate. It waits for its own host thread only, never
// for a message, and so keeps the rule for launched functions.
class Gate {
 public:
  void enqueue(StreamView stream) {
    open_.store(false, std::memory_order_relaxed);
    stream.launch(
        [](void* gate) { static_cast<Gate*>(gate)->open_.wait(false, std::memory_order_acquire); },
        this);
  }

  void open() {
    open_.store(true, std::memory_order_release);
    open_.notify_all();
  }

 private:
  std::atomic<bool> open_{false};
};

// The time at which the stream reaches this point of its program. Read it after the stream was
// synchronised.
class Stamp {
 public:
  void enqueue(StreamView stream) {
    stream.launch([](void* stamp) { static_cast<Stamp*>(stamp)->take(); }, this);
  }
  // Now, by whoever calls.
  void take() noexcept { time_us_ = now_us(); }

  double us() const noexcept { return time_us_; }

 private:
  double time_us_ = 0;
};

}  // namespace penstock::tool
