// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "base/sleeper.hpp"
#include "device/host/command_store.hpp"
#include "device/host/stream.hpp"

namespace penstock::device::host {

// The thread behind one stream.
class Stream::Worker {
 public:
  Worker(std::chrono::microseconds spin, int most_spinning);
  ~Worker();

  void push(const Command& command) {
    store_.push(command);
    sleeper_.wake();
  }
  void make_room(std::size_t commands) { store_.make_room(commands); }
  void synchronize(const std::function<bool()>& meanwhile);
  bool idle() const { return ended_.load(std::memory_order_acquire) == store_.pushed(); }
  static bool runs_here() noexcept;  // the calling thread is some stream's worker

 private:
  struct Arrival;
  static bool arrive(Command& command) noexcept;
  static bool stop(Command& command) noexcept;
  void run() noexcept;
  void await_command() noexcept;
  void await_end(Command& command) noexcept;
  std::chrono::microseconds spin_now() const noexcept;

  CommandStore store_;
  // It lies apart from what the worker writes for every command: producers read it for every one.
  alignas(64) base::Sleeper sleeper_;
  const std::chrono::microseconds spin_;
  const int most_spinning_;
  // Serves those who synchronise. The worker touches an Arrival under the mutex only, so its owner
  // may leave as soon as it has been set.
  alignas(64) std::mutex mutex_;
  std::condition_variable arrived_;
  // The worker's own line; others read it only to ask whether the stream is idle.
  alignas(64) std::atomic<std::uint64_t> ended_{0};
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace penstock::device::host
